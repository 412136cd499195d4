"""Sandboxes: one interface, its back ends, and the choice between them."""
