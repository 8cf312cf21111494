"""The options of a run: pytest's, the typed settings that they become, and what a ledger keeps of them."""
