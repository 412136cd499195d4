"""`python -m grader.cli`: the command line, where its script is not on the path."""

from grader.cli.app import main

main()
