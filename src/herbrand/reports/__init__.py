"""What can be told about a model or its answers: reports run engines and read answers."""
