"""The class of an LMS by its API: fetched as `grader collect` makes it, and grades pushed back."""
