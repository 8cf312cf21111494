"""Models that run on this machine, in a process of their own: transformers, vLLM, diffusers."""
