"""What draws and ranks schedules in a box: it has TVM, and nothing of the referee."""
