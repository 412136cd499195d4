"""An autograder for machine-learning compilation.

It is loaded in every sandbox: it must stay free of imports.
"""

__version__ = "0.1.0"
