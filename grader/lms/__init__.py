"""What a learning management system gives and takes: submissions in, grades and feedback out."""
