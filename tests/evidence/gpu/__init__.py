"""Kernels that are executed without a GPU."""
