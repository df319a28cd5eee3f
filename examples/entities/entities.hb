# Which records are one entity: weights of real-valued similarities, of a shared place, and of transitivity.
type record = 0..13
predicate name_score(record, record, number): observed
predicate word_score(record, record, number): observed
predicate same(record, record)

hard: same(x, y) <=> same(y, x)
?: same(x, y) where x != y
? * s: name_score(x, y, s) => same(x, y)
? * s: word_score(x, y, s) => same(x, y)
?: same(x, y) and same(y, z) => same(x, z) where x != y and y != z and x != z
