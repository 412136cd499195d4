"""What an instructor needs: templates of a master notebook, and what examples must get."""
