"""Which works are alike, beyond what was given: evidence for an instructor, and never a verdict."""
