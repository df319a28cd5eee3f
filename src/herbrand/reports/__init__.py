"""Reports on a model or its answers: reports run engines and read answers."""
