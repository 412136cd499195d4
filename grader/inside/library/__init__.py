"""The process that times PyTorch's own function, and sees nothing of a submission."""
