"""What several sandboxed processes need: the machine, failures, poison, and guarded builds.

Boxed code of evidence (`grader/evidence/*/inside/`) imports nothing else of the grader that runs
there: what two kinds of it need belongs here.
"""
