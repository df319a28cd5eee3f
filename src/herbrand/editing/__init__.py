"""Support for editors while a theory is being written: mistakes, fixes, names, completions."""
