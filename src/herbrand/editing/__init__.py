"""What editors show about a theory while it is being written: mistakes, fixes, names, completions."""
