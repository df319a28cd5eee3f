# Two shops' catalogues: which entries are the same article? Names have typos and other orders of words.
type text
type price = number
type likeness = 0..10

predicate ours(a, text, price): observed
predicate theirs(b, text, price): observed
predicate block(a, b)               # pairs worth a look: names that begin alike
predicate spelled(a, b, likeness)   # how alike the names of such a pair are, in tenths
predicate worded(a, b, likeness)    # the share of words that both have, in tenths
predicate dearer(a, b)              # prices that are more than a tenth apart
predicate same(a, b)

block(x, y) :- ours(x, n, _), theirs(y, m, _), k = prefix(lower(n), 1), k = prefix(lower(m), 1)
spelled(x, y, jaro_winkler(lower(n), lower(m)) * 10 // 1) :- block(x, y), ours(x, n, _), theirs(y, m, _)
worded(x, y, jaccard(n, m) * 10 // 1) :- block(x, y), ours(x, n, _), theirs(y, m, _)
dearer(x, y) :- block(x, y), ours(x, _, p), theirs(y, _, q), abs(p - q) > p / 10

-10.0: same(x, y)
0.8 * s: spelled(x, y, s) and same(x, y)
0.8 * s: worded(x, y, s) and same(x, y)
-6.0: dearer(x, y) and same(x, y)
