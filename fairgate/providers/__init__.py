"""Models and detectors: one package a kind, one module a provider, and what they share (HTTP, retries, redirects)."""
