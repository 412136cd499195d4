"""Yesterday's spellings of TVM's names, and how they become today's.

`migrate_cells(sources)` is the way in. The table is data (`table.toml`); nothing here runs or
imports what it reads.
"""
