"""Where a module first departs from PyTorch, and why."""
