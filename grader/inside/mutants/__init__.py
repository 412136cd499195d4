"""The process that makes mutants of a course's reference: a runner that does this task alone."""
