"""What mkdocs does to pages before it renders them: options are listed, files of the repository are named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.registry import registry
from fairgate.options.option import declared
from fairgate.options.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.options.option import Declared

MARK = "<!-- options -->"
# A file of the repository beside docs/ is no page of the site.
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a page."""
    if MARK in markdown:
        markdown = markdown.replace(MARK, "\n".join(_options()))
    return OUTSIDE.sub(_named, markdown)


def _named(link: re.Match[str]) -> str:
    text, path = link[1], link[2]
    return f"`{path}`" if text.strip("`") == path else f"{text} (`{path}`)"


def _options() -> Iterator[str]:
    kinds = {Settings: "Of every run"} | {
        each.options: f"Of {each.title}" for each in registry().plugins if each.options is not None
    }
    for kind, title in kinds.items():
        yield f"## {title}\n"
        yield "| option | meaning |\n| --- | --- |"
        yield from (f"| {_flag(each)} | {_meaning(each)} |" for each in declared(kind))
        yield ""


def _flag(option: Declared) -> str:
    """As `--help` shows it: each choice, or what stands for the value."""
    if option.kind is bool:
        return f"`{option.flag}`"
    value = "\\|".join(option.choices) if option.choices else (option.about.metavar or option.name.upper())
    return f"`{option.flag}={value}`"


def _meaning(option: Declared) -> str:
    about = option.about
    said = about.help[:1].upper() + about.help[1:].replace("%%", "%").replace("|", "\\|").replace("<", "&lt;")
    if about.least is not None and about.most is not None:
        least = f"above {about.least:,g}" if about.above else f"{about.least:,g}"
        said += f". From {least} to {about.most:,.15g}{f' {about.unit}' if about.unit else ''}"
    return said.rstrip(".") + (". Can be repeated." if option.is_list and "repeated" not in said else ".")
