"""Where a module first departs from PyTorch, and by which mistake: pure functions of arrays."""
