"""What counts a module's bytes, in a box: it has TVM, and nothing of the referee."""
