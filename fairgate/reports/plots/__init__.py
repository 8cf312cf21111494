"""The plots of a report: each a picture and a text that says the same. matplotlib is an extra, imported late."""
