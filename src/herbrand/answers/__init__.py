"""What we now know, and how surely: values only; nothing in here runs an engine."""
