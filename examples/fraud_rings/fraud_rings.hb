# Rings of three accounts pass an amount on within days, each keeping a little.
type amount = number
type day = date
predicate pays(account, account, amount, day): observed
predicate ring(account, account, account)
predicate fraud(account)

ring(x, y, z) :- pays(x, y, a, d), pays(y, z, b, e), pays(z, x, c, f),
    b < a, b > 0.9 * a, c < b, c > 0.9 * b, e >= d, e - d <= 2, f >= e, f - e <= 2

-4.0: fraud(x)
5.0: ring(x, y, z) and fraud(x)
5.0: ring(x, y, z) and fraud(y)
5.0: ring(x, y, z) and fraud(z)
