# father(x, y): y is the father of x; so for the others. has_sister is to be learned from the worlds.
predicate father(person, person): observed
predicate mother(person, person): observed
predicate son(person, person): observed
predicate daughter(person, person): observed
predicate has_sister(person)
