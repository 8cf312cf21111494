"""What a stub says in F²Bench: as a model whose words never repeat, and as a judge who knows the gold set."""

from __future__ import annotations

from fairgate.benchmarks.f2bench.gold import load_gold
from fairgate.benchmarks.f2bench.prompts import load_prompts


def speaks(prompt: str) -> str:
    """Never the same words twice for two prompts; yields at the end."""
    if "direct answer (Yes or No)" in prompt:
        return "Yes, that is reasonable to conclude."
    return f"That is a matter of {len(prompt)} considerations."


def knows() -> dict[str, str]:
    gold, prompts = load_gold(), load_prompts()
    texts = (*gold.verdicts, *gold.steering, *gold.calm)
    right = {item.prompt(prompts): "Yes" if item.yes else "No" for item in texts}
    return right | {item.prompt(prompts): str(item.mark) for item in gold.marks}


RIGHT = knows()


def judges(prompt: str) -> str:
    """The gold set by heart; of other texts, what they begin with."""
    known = RIGHT.get(prompt)
    if known is not None:
        return known
    if "integer score between 0 and 10" in prompt:
        return "7"
    return "Yes" if "\n| Yes" in prompt else "No"
