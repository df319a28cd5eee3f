# How much each rule is to be trusted, learned from right answers: herbrand learn --method proof.
# The weights of friends' tuples are learned too, one for each tuple that is stated.
predicate parent(person, person): observed
predicate brother(person, person): observed
predicate aunt(person, person): observed
predicate married(person, person): observed
predicate friend(person, person): learned
predicate uncle(person, person)

uncle(x, y) :- parent(x, z), brother(z, y) @ ?
uncle(x, y) :- aunt(x, z), married(z, y) @ ?
uncle(x, y) :- parent(x, z), friend(z, y)

parent("liam", "mary")
parent("mia", "jane")
parent("nora", "tom")
brother("mary", "bob")
brother("jane", "bob")
brother("tom", "carl")
aunt("liam", "jane")
aunt("nora", "ruth")
married("jane", "paul")
married("ruth", "carl")
friend("mary", "eric")
friend("jane", "bob") @ 0.5
friend("tom", "eric")

# right answers
uncle("liam", "bob")
uncle("mia", "bob")
uncle("nora", "carl")
