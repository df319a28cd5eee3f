# A unit fails where its parts do: any of them, or, where it is redundant, all of them.
predicate kind(item, kind): observed
predicate part(item, item): observed    # part(unit, what it is made of)
predicate series(item): observed
predicate redundant(item): observed
predicate fails(item)

# The expert's intervals, one for each kind of component.
P(fails(x) | kind(x, "pump")) in [0.02, 0.06]
P(fails(x) | kind(x, "valve")) in [0.005, 0.02]
P(fails(x) | kind(x, "sensor")) in [0.05, 0.1]
P(fails(x) | kind(x, "power")) in [0.001, 0.004]

P(fails(u) | series(u) and exists x: part(u, x) and fails(x)) = 1
P(fails(u) | series(u) and not (exists x: part(u, x) and fails(x))) = 0
P(fails(u) | redundant(u) and forall x: part(u, x) => fails(x)) = 1
P(fails(u) | redundant(u) and not (forall x: part(u, x) => fails(x))) = 0
