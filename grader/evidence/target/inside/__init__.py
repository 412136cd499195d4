"""What compares functions in a box: it has TVM, and nothing of the referee."""
