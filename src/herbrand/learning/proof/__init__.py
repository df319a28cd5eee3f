"""Learn weights of facts and rules from the right answers of goals.

`questions` (the goals and their right answers) → `losses` (how far the answers are from these) → `training`
(the optimiser's steps) → `method` (the entry point: a theory in, a theory with weights out).
"""
