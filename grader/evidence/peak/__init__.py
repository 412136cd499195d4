"""How many bytes a module holds at its peak, beside its arguments and its result.

This is the example of CONTRIBUTING.md: a kind of evidence that is all in one folder.
"""
