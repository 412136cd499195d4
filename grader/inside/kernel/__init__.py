"""Code that runs inside the student's sandbox: it starts the kernel and takes out what was built.

Nothing here holds an answer. Of the rest of the grader, only `grader.messages` and
`grader.inside.launcher` are there beside it, and the evaluator's code, which is no secret.
"""
