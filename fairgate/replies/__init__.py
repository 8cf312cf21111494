"""Readers of replies, by the form that a query asks for: choices, judgements, reasons, faces."""
