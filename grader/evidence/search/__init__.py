"""Schedules drawn from a space: how many programs there are in it, and which of them is fastest."""
