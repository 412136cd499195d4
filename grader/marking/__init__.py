"""Marking by hand: a page on this machine that goes through the answers one by one."""
