"""Gates releases of language and text-to-image models on factuality and on fairness to individuals."""

__version__ = "0.1.0"
