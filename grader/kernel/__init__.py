"""Code that runs inside the student's sandbox: it starts the kernel and takes out what was built.

Nothing here holds an answer. It is shipped into the sandbox with
`grader.messages` and nothing else.
"""
