# What two pictures of digits add up to. Which digit a picture shows, a network says.
type picture = 0..399
type digit = 0..4
type total = 0..8
predicate shows(picture, digit)
predicate plus(digit, digit, total): observed
predicate sum(picture, picture, total)

sum(a, b, s) :- shows(a, x), shows(b, y), plus(x, y, s)
