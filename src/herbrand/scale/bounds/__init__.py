"""Bounds over facts in a database: sentences as rows, solved part by part in processes of their own."""
