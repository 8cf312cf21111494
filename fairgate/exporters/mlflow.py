"""A run of MLflow: scores and intervals as metrics, the verdict as tags, the report as artifacts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fairgate.core.errors import FairgateError

if TYPE_CHECKING:
    from fairgate.exporters.figures import Figures

MOST = 500  # metrics of one request; MLflow takes 1,000
PLACE = "fairgate"  # the artifacts' folder


def export(figures: Figures, project: str, *, with_report: bool) -> str:
    """Log the figures, and say where. MLFLOW_TRACKING_URI names the server, as for every client of MLflow."""
    # The package reports its use to an outside host, unless told otherwise before it is imported.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    import mlflow

    try:
        mlflow.set_experiment(project)
        with mlflow.start_run(run_name=figures.report.headline[:100]) as run:
            mlflow.set_tags(dict(figures.tags))
            for part in _parts(figures):
                mlflow.log_metrics(part)
            for path in figures.files if with_report else ():
                mlflow.log_artifact(str(path), PLACE)
    except mlflow.MlflowException as error:
        raise FairgateError(f"MLflow did not take the run: {error.message}", where="--to mlflow") from error
    return f"MLflow: experiment {project}, run {run.info.run_id}"


def _parts(figures: Figures) -> list[dict[str, float]]:
    names = list(figures.metrics)
    return [{name: figures.metrics[name] for name in names[n : n + MOST]} for n in range(0, len(names), MOST)]
