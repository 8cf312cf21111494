"""A run of MLflow: scores and intervals as metrics, the verdict as tags, the report as artifacts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError, FairgateError
from fairgate.exporters.clients import shown

if TYPE_CHECKING:
    from fairgate.exporters.figures import Figures

ADDRESS = "MLFLOW_TRACKING_URI"
MOST = 500  # metrics of one request; MLflow takes 1,000
PLACE = "fairgate"  # the artifacts' folder


def export(figures: Figures, project: str, *, with_report: bool) -> str:
    """Log the figures, and say where. MLFLOW_TRACKING_URI names the server or the folder; ConfigError without it."""
    if not os.environ.get(ADDRESS):
        # The client would take what lies in the current folder, mlruns or mlflow.db, and write wherever that says.
        hint = f"Set {ADDRESS} to the server's address, or to a folder: {ADDRESS}=file:///path/to/mlruns"
        raise ConfigError("nothing says where MLflow keeps its runs.", where=ADDRESS, hint=hint)
    # The package reports its use to an outside host, unless told otherwise before it is imported, and prints the
    # server's address with the password in it.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    import mlflow

    try:
        mlflow.set_experiment(project)
        with mlflow.start_run(run_name=figures.report.headline[:100]) as run:
            mlflow.set_tags(dict(figures.tags))
            for part in _parts(figures):
                mlflow.log_metrics(part)
            for path in figures.files if with_report else ():
                mlflow.log_artifact(str(path), PLACE)
    except Exception as error:  # noqa: BLE001 - of any of the stores that an address may name
        said = shown(f"{type(error).__name__}: {error}", mlflow.get_tracking_uri(), os.environ.get(ADDRESS))
    else:
        return f"MLflow: experiment {project}, run {run.info.run_id}"
    # Raised here, so that nothing of the client's hangs on it as its context.
    raise FairgateError(f"MLflow did not take the run: {said}", where="--to mlflow")


def _parts(figures: Figures) -> list[dict[str, float]]:
    names = list(figures.metrics)
    return [{name: figures.metrics[name] for name in names[n : n + MOST]} for n in range(0, len(names), MOST)]
