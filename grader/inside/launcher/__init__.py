"""Launchers: processes that have imported everything and fork a child into each sandbox.

Importing TVM and PyTorch takes two seconds, a fork takes milliseconds. A launcher is started once,
with an empty environment, imports what its children need, and then only ever receives requests and
forks. It never sees a submission: what a child runs is decided in the child, after it has entered
its sandbox and given up everything.

This folder runs in the launcher, in the warden of each sandbox and, up to the moment at which the
program starts, in the sandboxed process itself. It imports nothing of `grader` but itself.
"""
