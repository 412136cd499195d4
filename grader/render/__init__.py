"""One module an output format, each made of a `grader.report.Report` and nothing else."""
