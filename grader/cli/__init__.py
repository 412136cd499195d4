"""The command line: arguments in, one call, an exit code out."""
