# Which mentions of a document are of one entity; how much transitivity counts is learned.
type mention = 0..15
predicate same(mention, mention)

hard: same(x, y) <=> same(y, x)
?: same(x, y) and same(y, z) => same(x, z) where x != y and y != z and x != z
