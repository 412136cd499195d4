"""A sandboxed kernel for Jupyter: a kernelspec, and the process that it starts.

The process is trusted, and runs nothing of a notebook. It opens a sandbox as a grading does, starts
the grader's kernel in it, and passes messages on between that and whoever asked for a kernel.
"""
