"""`vllm/NAME`: a language model of vLLM, which batches by itself what it is given at once."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from vllm import LLM, SamplingParams

from fairgate.core.domain import Reply
from fairgate.core.errors import ConfigError
from fairgate.core.redaction import Redaction, of_environment
from fairgate.providers.local.folder import check_layers
from fairgate.providers.local.options import seed_of
from fairgate.providers.local.served import Served

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.domain import Query
    from fairgate.providers.local.options import Named, TextOptions


def load(named: Named[TextOptions], places: int) -> Served:
    """The model, loaded. Raises ConfigError where it cannot be."""
    try:
        model = Vllm(named)
    except Exception as error:  # whatever the library raises of a folder that somebody else made
        raise ConfigError(
            f"it cannot be loaded ({type(error).__name__}: {Redaction(of_environment()).show(str(error))}).",
            where=named.label,
            hint="Give a model that vLLM serves, on a machine that it supports.",
        ) from error
    return Served(named.label, model.answer, named.options.batch, places)


class Vllm:
    """An engine of vLLM in this process."""

    def __init__(self, named: Named[TextOptions]) -> None:
        self._options, self._system = named.options, named.system
        if Path(named.name).is_dir():
            check_layers(Path(named.name))
        self._engine: Any = LLM(
            model=named.name,
            revision=named.options.revision,
            dtype=named.options.dtype,
            trust_remote_code=False,
            seed=0,
        )

    def answer(self, queries: Sequence[Query]) -> Sequence[Reply]:
        """The replies to these queries, in their order."""
        began = perf_counter()
        first = [{"role": "system", "content": self._system}] if self._system is not None else []
        asked = [
            [*first, *({"role": each.role, "content": each.content} for each in query.messages)] for query in queries
        ]
        drawn = [
            SamplingParams(
                temperature=self._options.temperature,
                top_p=self._options.top_p,
                max_tokens=self._options.max_new_tokens,
                seed=seed_of(query),
            )
            for query in queries
        ]
        if self._engine.get_tokenizer().chat_template is None:
            texts = ["\n\n".join(turn["content"] for turn in turns) for turns in asked]
            made = self._engine.generate(texts, drawn, use_tqdm=False)
        else:
            made = self._engine.chat(asked, drawn, use_tqdm=False)
        latency = perf_counter() - began
        return [
            Reply(
                each.outputs[0].text.strip().encode("utf-8", "replace").decode(),
                truncated=each.outputs[0].finish_reason == "length",
                prompt_tokens=len(each.prompt_token_ids or ()),
                completion_tokens=len(each.outputs[0].token_ids),
                latency=latency,
            )
            for each in made
        ]
