"""Weights of facts and rules learned from the answers they should give.

`questions` (what is asked, and what should be answered) → `losses` (how far off the answers are) → `training`
(the optimiser's steps) → `method` (the front door: a theory in, a theory with weights out).
"""
