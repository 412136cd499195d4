"""What a kernel for a GPU computes, where its threads race, and what it moves: without a GPU."""
