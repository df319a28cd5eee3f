"""Relations against plain Python."""
