"""An autograder for machine-learning compilation.

This file is shipped into sandboxes beside `grader.messages`: it must stay free of imports.
"""

__version__ = "0.1.0"
