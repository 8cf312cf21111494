"""F²Bench: open-ended fairness, with and without facts, judged by a model that is itself judged."""
