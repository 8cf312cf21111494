"""Faces: found in images, read by attribute, and told apart from what cannot be read."""
