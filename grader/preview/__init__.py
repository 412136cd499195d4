"""The pages of `grader preview`: what an assignment looks like while somebody writes it."""
