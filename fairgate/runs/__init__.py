"""One run: what the user asked for, what is asked, and what it came to."""
