"""Answers of engines and their guarantees: values only; nothing in here runs an engine."""
