"""Recipes for grading on push: data files, and what fills them in for a course (docs/ci.md)."""
