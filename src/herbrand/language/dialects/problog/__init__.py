"""ProbLog's programs: ``.pl`` files."""
