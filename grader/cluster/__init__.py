"""Many machines: a batch whose gradings are done by the workers of a Dask cluster.

Dask moves bytes and says who is there. What is graded, and what of an answer is believed, is said
here; docs/cluster.md says who has to trust whom. Dask itself is imported by `address`, `opening`,
`dispatch`, `load` and what a worker runs alone: it is an extra, and slow.
"""
