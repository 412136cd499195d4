"""Running a submission's notebook in a sandbox, and what came out of it."""
