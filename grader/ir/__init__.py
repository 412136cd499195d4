"""A reader of TVM's graph JSON in pure Python: nothing of a submission's IR reaches TVM unread."""
