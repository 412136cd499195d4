"""How fast a schedule is: measured in a runner, read with its doubts, and made points."""
