"""The trusted side: holds the answers, asks runners for evidence, and decides."""
