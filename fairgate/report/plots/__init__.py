"""The plots of a report: each a picture and a text that says the same. matplotlib is an extra, imported late."""

from __future__ import annotations

from fairgate.report.plots.drawing import Plot

__all__ = ["Plot"]
