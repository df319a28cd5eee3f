"""Torch modules over the engines.

>>> import herbrand as hb
>>> theory = hb.parse('''
... predicate smokes(person)
... predicate cancer(person)
... 1.5: smokes(x) => cancer(x)
... smokes("anna")
... not smokes("bob")
... ''')
>>> layer = hb.nn.LogicLayer(hb.Model(theory), iterations=None)
>>> [round(p, 4) for p in layer()["cancer"].tolist()]
[0.8176, 0.5]
"""

from herbrand.induction.machine import LogicMachine
from herbrand.nn.logic_layer import LogicLayer
from herbrand.nn.query_layer import QueryLayer

__all__ = ["LogicLayer", "LogicMachine", "QueryLayer"]
