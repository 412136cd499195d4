"""What a class did: figures of many reports, each of which leads to the students behind it."""
