"""Language models: HTTP APIs, LiteLLM, Python callables, batches, controls."""
