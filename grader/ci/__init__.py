"""Recipes for grading on push and for notebooks in a browser: files, and what fills them in."""
