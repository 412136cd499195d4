"""The main line: one submission, from its file to its report.

`pipeline.py` goes through it; `referee.py` has the parts gathered, judged and explained.
"""
