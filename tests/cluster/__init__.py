"""Grading on the workers of a Dask cluster, with real processes on loopback."""
