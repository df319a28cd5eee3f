"""Games that policies learn by reward, and the schools that train them; benchmarks and an example play."""
