# The tag of each word of a reference; how tags follow each other, and what being set alike says, is learned.
type word = 0..11
predicate next(word, word): observed
predicate alike(word, word): observed
predicate tag(word) in {"author", "title", "venue", "year"}

?[t, u]: tag(x) = t and next(x, y) and tag(y) = u
?: tag(x) = t and alike(x, y) => tag(y) = t
