"""The versions of the gradebook's tables, for Alembic: each file makes one out of the one before.

A file that has been released is never changed: somebody's gradebook was made by it.
"""
