"""User-defined tasks: predicates to be learned in random worlds, and games to be learned by playing.

A task of worlds is a function that draws them (:func:`worlds_task`); a game is a frozen dataclass of arrays
(:class:`Games`), learned in lessons of growing size (:class:`Curriculum`). :func:`train` returns a machine or
a policy, which can be saved, applied to larger worlds, and extracted as rules.
"""

from herbrand.induction.task import Sample, Task
from herbrand.induction.training import Plan, Progress
from herbrand.tasks.curriculum import Curriculum, Lesson, Method, Schooling
from herbrand.tasks.environment import environment
from herbrand.tasks.games import Games
from herbrand.tasks.learned import LearnedMachine, LearnedPolicy
from herbrand.tasks.policies import ActionPolicy
from herbrand.tasks.readout import MachineRules, PolicyRules
from herbrand.tasks.reinforce import Reinforce
from herbrand.tasks.rollouts import Episodes, Step, play
from herbrand.tasks.train import train
from herbrand.tasks.worlds import worlds_task

__all__ = [
    "ActionPolicy",
    "Curriculum",
    "Episodes",
    "Games",
    "LearnedMachine",
    "LearnedPolicy",
    "Lesson",
    "MachineRules",
    "Method",
    "Plan",
    "PolicyRules",
    "Progress",
    "Reinforce",
    "Sample",
    "Schooling",
    "Step",
    "Task",
    "environment",
    "play",
    "train",
    "worlds_task",
]
