# A knowledge graph of books: who likes what follows from authors, themes, and what friends liked.
?: likes(u, b)
?: likes(u, b) and wrote(a, b) and admires(u, a)
?: likes(u, b) and about(b, t) and follows(u, t)
?: likes(u, b) and liked(v, b) and friends(u, v)
