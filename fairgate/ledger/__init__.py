"""What was paid for: the ledger, the images beside it, and looking after both."""
