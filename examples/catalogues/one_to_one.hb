# An entry of one catalogue is at most one of the other.
hard: same(x, y) and same(x, z) => y = z
hard: same(x, y) and same(z, y) => x = z
