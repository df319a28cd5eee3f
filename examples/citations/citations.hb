# Two records are the same paper where they share words of the title, rare ones above all; and "the same" is
# an equivalence. How much a shared word, author or venue tells is learned.
type record
predicate title(record, word): observed
predicate author(record, name): observed
predicate venue(record, place): observed
predicate same(record, record)

?[w]: title(x, w) and title(y, w) and x != y => same(x, y)
?: author(x, a) and author(y, a) and x != y => same(x, y)
?: venue(x, v) and venue(y, v) and x != y => same(x, y)
?: same(x, y) and same(y, z) and x != y and y != z and x != z => same(x, z)
?: same(x, y)
