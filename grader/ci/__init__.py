"""Recipes for grading on push and for notebooks in a browser: data files and their values."""
