# Who is whose uncle, aunt and forebear: Horn rules over tables of parents, brothers, sisters and marriages.
predicate parent(person, person): observed    # the second is a parent of the first
predicate brother(person, person): observed
predicate sister(person, person): observed
predicate married(person, person): observed
predicate uncle(person, person)
predicate aunt(person, person)
predicate ancestor(person, person)
predicate related(person, person)

uncle(x, y) :- parent(x, z), brother(z, y)
uncle(x, y) :- aunt(x, z), married(z, y) @ 0.9
aunt(x, y) :- parent(x, z), sister(z, y)
ancestor(x, y) :- parent(x, y)
ancestor(x, y) :- parent(x, z), ancestor(z, y)
related(x, y) :- ancestor(x, z), ancestor(y, z), x != y

parent("liam", "mary")
parent("liam", "tom")
parent("nora", "mary")
parent("nora", "tom")
parent("mary", "ruth")
parent("mary", "paul")
parent("bob", "ruth")
parent("bob", "paul")
parent("jane", "ruth")
parent("jane", "paul")
parent("mia", "jane")
parent("mia", "carl")
brother("mary", "bob")
brother("jane", "bob")
sister("mary", "jane")
sister("bob", "jane")
sister("bob", "mary")
sister("jane", "mary")
brother("nora", "liam")
sister("liam", "nora")
married("jane", "carl")
married("mary", "tom")
