"""The most probable world as an integer program."""
