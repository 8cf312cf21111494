"""Results of a run in the form of other programs: experiment trackers and model hubs."""
