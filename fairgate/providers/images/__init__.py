"""Image models: HTTP APIs, Python callables, folders of images, controls."""
