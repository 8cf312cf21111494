"""A run of Weights & Biases: scores and intervals as its summary, the report as an artifact."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fairgate.core.errors import FairgateError
from fairgate.exporters.clients import shown

if TYPE_CHECKING:
    from fairgate.exporters.figures import Figures


def export(figures: Figures, project: str, *, with_report: bool) -> str:
    """Log the figures, and say where. WANDB_MODE=offline keeps them on this machine, for `wandb sync`."""
    # Said before it is imported: it prints the address of its server, with a password in it.
    os.environ["WANDB_SILENT"] = "true"
    import wandb

    # Nothing of this machine goes along: neither what is printed, nor packages, nor code.
    quiet = wandb.Settings(
        silent=True,
        console="off",
        disable_git=True,
        save_code=False,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )
    try:
        with wandb.init(project=project, job_type="gate", config=dict(figures.tags), settings=quiet) as run:
            run.summary.update(dict(figures.metrics))
            if with_report:
                report = wandb.Artifact("fairgate-report", type="report", metadata=dict(figures.tags))
                for path in figures.files:
                    report.add_file(str(path))
                run.log_artifact(report)
            return f"Weights & Biases: project {project}, run {run.id}, {'offline' if run.offline else run.url}"
    except wandb.Error as error:
        said = shown(str(error), os.environ.get("WANDB_BASE_URL"))
    # Raised here, so that nothing of the client's hangs on it as its context.
    raise FairgateError(f"Weights & Biases did not take the run: {said}", where="--to wandb")
