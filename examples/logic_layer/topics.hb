# Papers that cite each other tend to be about the same thing; how much, is learned.
type paper
predicate cites(paper, paper): observed
predicate topic(paper) in {"ai", "databases", "theory"}

?: topic(x) = t and cites(x, y) => topic(y) = t
