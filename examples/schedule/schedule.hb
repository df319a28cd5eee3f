# Who does which task when, worth the most in expectation: gain times skill times the chance to be there.
type slot = 1..4
type chance = number
type gain = number
predicate skill(person, task, chance): observed
predicate presence(person, slot, chance): observed
predicate value(task, gain): observed
predicate before(task, task): observed
predicate worth(person, task, slot, gain)
predicate does(person, task, slot)

worth(p, t, s, v * q * r) :- value(t, v), skill(p, t, q), presence(p, s, r)
1.0 * g: worth(p, t, s, g) and does(p, t, s)
-0.001: does(p, t, s)
hard: does(p, t, s) and does(q, t, r) => p = q
hard: does(p, t, s) and does(q, t, r) => s = r
hard: does(p, t, s) and does(p, u, s) => t = u
hard: before(t, u) and does(q, u, r) => exists p, s: does(p, t, s)
hard: before(t, u) and does(p, t, s) and does(q, u, r) => s < r
