"""The models under test: chat endpoints, python callables, folders of results, controls."""
