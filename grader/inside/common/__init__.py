"""What several sandboxed processes need: the machine, failures, parcels, poison."""
