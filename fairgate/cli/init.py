"""`fairgate init`: a limits file that only overrides, and a CI workflow, in the user's own repository."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fairgate import __version__
from fairgate.core.current_folder import check_unlinked
from fairgate.core.errors import ConfigError
from fairgate.providers.chat.anthropic import ANTHROPIC
from fairgate.providers.chat.openai import AZURE, OPENAI
from fairgate.providers.chat.registry import split

if TYPE_CHECKING:
    import argparse

TEMPLATES = Path(__file__).parent / "templates"
WORKFLOW = ".github/workflows/fairgate.yml"
# By the place in the repository.
FILES = {"fairgate.toml": "limits.toml", WORKFLOW: "workflow.yml"}
UNKNOWN = "fairgate @ git+https://HOST/PATH/fairgate@COMMIT"
MODEL = "openai/my-model"
NAME = re.compile(r"[\w./:@+~-]+", re.ASCII)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    init = commands.add_parser(
        "init",
        help="write a limits file and a CI workflow into your repository",
        description=f"Writes {' and '.join(FILES)} into a folder. Files that exist are left as they are.",
    )
    init.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="DIR", help="default: this folder")
    init.add_argument("--model", default=MODEL, metavar="PROVIDER/NAME", help=f"the model to gate. Default: {MODEL}")
    init.set_defaults(command=_init)


def _init(options: argparse.Namespace) -> str:
    folder: Path = options.folder
    if not folder.is_dir():
        raise ConfigError("no such folder.", where=str(folder), hint="Create it first.")
    # It stands in a command of a shell, and in YAML.
    if not NAME.fullmatch(options.model):
        raise ConfigError(f"{options.model!r} is not PROVIDER/NAME.", where="--model", hint=f"It looks like {MODEL}.")
    environment = _environment(split(options.model)[0])
    required = requirement()
    for name in FILES:
        check_unlinked(folder, Path(name).parent, "DIR", "Remove it, or name another folder.")
    said = []
    for name, template in FILES.items():
        path = folder / name
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            text = text.replace("REQUIREMENT", required or UNKNOWN).replace("ENVIRONMENT", environment)
            with path.open("x", encoding="utf-8") as file:
                file.write(text.replace("MODEL", options.model))
            said.append(f"{path}: written.")
        except FileExistsError:
            said.append(f"{path}: exists, and is left as it is.")
    if required is None:
        said.append(
            f"In {WORKFLOW}, name what pip is to install in place of {UNKNOWN!r}: this fairgate came from a folder."
        )
    said.append(f"Try it: fairgate run --model={options.model} --thresholds={folder / 'fairgate.toml'} --dry-run")
    return "\n".join(said) + "\n"


def _environment(provider: str) -> str:
    """The lines of the workflow that hand the provider's key to the run."""
    if (keys := {each.name: each for each in (ANTHROPIC, AZURE, OPENAI)}.get(provider)) is None:
        return '        # A key that the model needs: env: {NAME: "${{ secrets.NAME }}"}'
    lines = ["        env:", f"          {keys.key}: ${{{{ secrets.{keys.key} }}}}"]
    if keys is AZURE:
        lines.append(f"          {keys.address}: ${{{{ vars.{keys.address} }}}}")
    return "\n".join(lines)


def requirement() -> str | None:
    """What pip installs to get this fairgate: the release of an index, or what its address names.

    None where it came from a folder or a file of this machine, or from an address with a password.
    """
    try:
        found = distribution("fairgate").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    if found is None:
        return f"fairgate=={__version__}"
    origin = json.loads(found)
    parts = urlsplit(origin["url"])
    if parts.scheme != "https" or "@" in parts.netloc:
        return None
    source = origin.get("vcs_info", {})
    if source.get("vcs") == "git":
        return f"fairgate @ git+{origin['url']}@{source['commit_id']}"
    return f"fairgate @ {origin['url']}" if "archive_info" in origin else None
