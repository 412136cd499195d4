"""The gradebook: students, what they handed in, what came of it, and how that makes a grade."""
