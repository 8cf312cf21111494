"""A benchmark for fairgate: questions about two people whom a text tells apart, or does not, in the manner of BBQ."""
