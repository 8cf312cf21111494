"""The contract that every benchmark fulfils, the specification of its scores, and where benchmarks are registered."""
