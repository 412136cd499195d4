"""Kernels are lowered by TVM and executed thread by thread, in a box."""
