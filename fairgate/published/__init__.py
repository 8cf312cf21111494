"""The score tables of the three papers: as printed, checked against themselves, and as a field to stand in."""
