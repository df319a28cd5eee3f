"""Bounds over facts in a database: sentences as rows, solved part by part in worker processes."""
