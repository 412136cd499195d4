"""`python -m grader`: the command line, where its script is not on the path."""

from grader.cli.app import main

if __name__ == "__main__":
    main()
