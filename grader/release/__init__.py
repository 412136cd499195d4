"""Releases: what students and a public repository may have of a course, and the rest of it."""
