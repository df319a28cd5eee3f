# Friends influence each other's habits; smoking causes cancer. Both only tend to be so.
type person
predicate friends(person, person): observed     # who is not listed is no friend
predicate smokes(person)
predicate cancer(person)

hard: friends(x, y) => friends(y, x)
1.1: smokes(x) and friends(x, y) => smokes(y)
1.5: smokes(x) => cancer(x)
-0.7: smokes(x)
-2.0: cancer(x)

smokes("anna")
smokes("edward")
not smokes("gary")
cancer("bob") ~ 0.6                              # an uncertain diagnosis
