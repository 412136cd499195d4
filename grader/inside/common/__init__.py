"""What several sandboxed processes need: the machine, failures, framed arrays, poison."""
