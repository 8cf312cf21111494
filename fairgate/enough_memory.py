"""A plugin of pytest that ends the process where it may not have a run's memory: loaded before what takes it."""

from fairgate.core import address_space

address_space.require()
