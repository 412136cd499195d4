"""The evaluator's process: it loads a student's functions, which are pickles, and calls them.

It is the only process beside the notebook's that runs student Python. The runner asks it, and
believes the bytes of the outputs that it asked for and nothing else.
"""
