"""A run of Weights & Biases: scores and intervals as its summary, the report as an artifact."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import apart, check_unlinked
from fairgate.core.errors import FairgateError
from fairgate.exporters.clients import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.exporters.figures import Figures

FOLDERS = ("wandb", ".wandb")  # of the client's own, in the folder that it is told


def export(figures: Figures, project: str, *, with_report: bool) -> str:
    """Log the figures, and say where. WANDB_MODE=offline keeps them on this machine, for `wandb sync`.

    Its own files are written below WANDB_DIR, or the current folder. Raises ConfigError where links lie there.
    """
    for name, value in os.environ.items():
        if name.startswith("WANDB_") and name.endswith("_DIR") and value:
            os.environ[name] = str(Path(value).expanduser().absolute())
    place = os.environ.get("WANDB_DIR")
    if not place:
        place = str(Path.cwd())
        for name in FOLDERS:
            check_unlinked(Path(place), Path(name), "--to wandb", "Remove it, or name a folder by WANDB_DIR.")
    paths = [each.absolute() for each in figures.files] if with_report else []
    # It would send the key to the server that wandb/settings of the current folder names.
    with apart():
        return _sent(figures, project, paths, place)


def _sent(figures: Figures, project: str, paths: Sequence[Path], place: str) -> str:
    # Said before it is imported: it prints the address of its server, with a password in it.
    os.environ["WANDB_SILENT"] = "true"
    import wandb

    # Nothing of this machine goes along: neither what is printed, nor packages, nor code.
    quiet = wandb.Settings(
        root_dir=place,
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
            if paths:
                report = wandb.Artifact("fairgate-report", type="report", metadata=dict(figures.tags))
                for path in paths:
                    report.add_file(str(path))
                run.log_artifact(report)
            return f"Weights & Biases: project {project}, run {run.id}, {'offline' if run.offline else run.url}"
    except wandb.Error as error:
        said = shown(str(error), os.environ.get("WANDB_BASE_URL"))
    # Raised here, so that nothing of the client's hangs on it as its context.
    raise FairgateError(f"Weights & Biases did not take the run: {said}", where="--to wandb")
