"""Gradings on machines that lack something."""
