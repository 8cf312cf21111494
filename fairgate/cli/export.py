"""`fairgate export`: the scores, intervals and report of a run, for an experiment tracker or a model hub."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.cli import gate
from fairgate.core.errors import ConfigError, MissingDependency

if TYPE_CHECKING:
    import argparse

    from fairgate.exporters.figures import Figures

TRACKERS = ("mlflow", "wandb")  # packages, and extras of the same names
HUB = "hf"
SOURCE = ("REPORT|LEDGER", "the folder that --report-dir named, or a ledger, whose run is judged again, offline")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    export = commands.add_parser(
        "export",
        help="send scores and report to MLflow or Weights & Biases, or write them for Hugging Face",
        description="Exports one run: its scores with their intervals, its verdict, and its report as an artifact. The "
        "report holds prompts and replies. Each client finds its server and key by itself: MLFLOW_TRACKING_URI, "
        "WANDB_API_KEY.",
    )
    gate.add_inputs(export, SOURCE)
    export.add_argument("--to", choices=(*TRACKERS, HUB), required=True, help="where")
    export.add_argument(
        "--project", default="fairgate", metavar="NAME", help="experiment or project. Default: fairgate"
    )
    export.add_argument("--scores-only", action="store_true", help="leave out the report with its prompts and replies")
    hub = export.add_argument_group("hf", "writes .eval_results/fairgate.yaml for a model's repository")
    hub.add_argument("--dataset", metavar="ORG/NAME", help="the benchmark dataset of the Hub")
    hub.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASK=SCORE",
        help="a task of it, and the score for it; repeatable",
    )
    hub.add_argument("--source", metavar="URL", help="an address that shows the run")
    hub.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="the repository. Default: this folder")
    export.set_defaults(command=_export)


def _export(options: argparse.Namespace) -> str:
    from fairgate.exporters.figures import read_figures

    if options.to in TRACKERS and find_spec(options.to) is None:
        raise MissingDependency(
            f"{options.to} is not installed.", where="--to", hint=f"pip install 'fairgate[{options.to}]'"
        )
    if options.to == HUB and not (options.dataset and options.task):
        raise ConfigError("needs --dataset and --task.", where="--to hf", hint="fairgate export --help describes both.")
    if options.ledger.is_dir():
        return _sent(options, read_figures(options.ledger))
    with tempfile.TemporaryDirectory(prefix="fairgate-") as folder:
        gate.found(options)
        gate.judged(options, f"--report-dir={folder}")
        return _sent(options, read_figures(Path(folder)))


def _sent(options: argparse.Namespace, figures: Figures) -> str:
    if options.to == HUB:
        from fairgate.exporters import hugging_face

        path = hugging_face.export(figures, options.output, options.dataset, options.task, options.source)
        return f"{path} is written.\n"
    if options.to == "mlflow":
        from fairgate.exporters import mlflow as tracker
    else:
        from fairgate.exporters import wandb as tracker  # type: ignore[no-redef]
    return f"{tracker.export(figures, options.project, with_report=not options.scores_only)}\n"
