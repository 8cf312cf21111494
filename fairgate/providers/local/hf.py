"""`hf/NAME`: a causal language model of transformers, from the hub or a folder."""

from __future__ import annotations

import gc
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
import transformers

from fairgate.core.domain import Reply, Token
from fairgate.core.errors import ConfigError
from fairgate.core.redaction import Redaction, of_environment
from fairgate.ledger.samples import read, weighed
from fairgate.providers.local.folder import check_layers
from fairgate.providers.local.memory import room
from fairgate.providers.local.options import seed_of
from fairgate.providers.local.served import Served, device_of, dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.core.domain import Query
    from fairgate.providers.local.options import Named, TextOptions

ROOM = 2**28  # bytes of memory while prompts are written
LONGEST = 2**20  # characters of a prompt as the chat template writes it
MOST = 256  # tokens that are looked at of each step: in a process of our own more cost next to nothing


def load(named: Named[TextOptions], places: int, probabilities: bool = False) -> Served:
    """The model, loaded. Raises ConfigError where it cannot be."""
    try:
        model = Transformers(named, probabilities=probabilities)
    except Exception as error:  # whatever the library raises of a folder that somebody else made
        raise ConfigError(
            f"it cannot be loaded ({type(error).__name__}: {Redaction(of_environment()).show(str(error))}).",
            where=named.label,
            hint="Give a model of the hub, or a folder of one, that is a causal language model.",
        ) from error
    return Served(named.label, model.answer, named.options.batch, places)


class Transformers:
    """A model with its tokenizer: at temperature 0 the most probable tokens, else drawn by each query's own seed.

    `probabilities`: replies bear those of the letters on offer.
    """

    def __init__(self, named: Named[TextOptions], *, probabilities: bool = False) -> None:
        self._options, self._system, name = named.options, named.system, named.name
        self._weighed = probabilities
        self._texts: dict[int, bytes] = {}
        self._device = device_of(named.options.device)
        transformers.utils.logging.disable_progress_bar()
        if Path(name).is_dir():
            check_layers(Path(name))
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(
            name, revision=named.options.revision, padding_side="left", trust_remote_code=False
        )
        self._model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            name, revision=named.options.revision, dtype=dtype_of(named.options.dtype), trust_remote_code=False
        )
        self._model.to(self._device).eval()
        if self._tokenizer.pad_token_id is None:  # padding is masked: which token it is does not matter
            self._tokenizer.pad_token = self._tokenizer.eos_token or self._tokenizer.convert_ids_to_tokens(0)
        self._revision: str | None = getattr(self._model.config, "_commit_hash", None)

    def answer(self, queries: Sequence[Query]) -> Sequence[Reply]:
        """The replies to these queries, in their order."""
        began = perf_counter()
        prompts = self._prompts(queries)
        # A chat template writes the special tokens itself.
        given = self._tokenizer(
            prompts,
            return_tensors="pt",
            padding=True,
            add_special_tokens=self._tokenizer.chat_template is None,
        ).to(self._device)
        seen = Recording()
        processors: list[transformers.LogitsProcessor] = [seen] if self._weighed else []
        processors += [] if self._options.temperature == 0 else [self._drawing(queries)]
        with torch.inference_mode():
            made = self._model.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                max_new_tokens=self._options.max_new_tokens,
                do_sample=False,
                # What a model's own generation_config says of drawing is ours to say.
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=self._tokenizer.pad_token_id,
                logits_processor=transformers.LogitsProcessorList(processors),
            )
        width = given["input_ids"].shape[1]
        latency = perf_counter() - began
        replies = [
            self._reply(tokens, int(asked), latency, seen.of(row) if self._weighed else None)
            for row, (tokens, asked) in enumerate(
                zip(made[:, width:].tolist(), given["attention_mask"].sum(dim=1), strict=True)
            )
        ]
        # Here, so that no other process is sent all the tokens.
        return [weighed(query, reply, read(query, reply)) for query, reply in zip(queries, replies, strict=True)]

    def _prompts(self, queries: Sequence[Query]) -> list[str]:
        with suppress(MemoryError), room(ROOM):  # a template may write anything
            return [prompt(self._tokenizer, query, self._system) for query in queries]
        # Circles of what the template raised and of its frames hold what filled the memory.
        gc.collect()
        raise ValueError(f"the chat template takes more than {ROOM / 2**20:.0f} MiB of memory")

    def _reply(
        self, tokens: list[int], asked: int, latency: float, likely: Sequence[Sequence[tuple[int, float]]] | None
    ) -> Reply:
        ends = self._model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        end = next((at + 1 for at, token in enumerate(tokens) if token in stops), None)
        length = end or len(tokens)
        text = self._tokenizer.decode(tokens[:length], skip_special_tokens=True).strip()
        return Reply(
            text.encode("utf-8", "replace").decode(),
            truncated=end is None and length >= self._options.max_new_tokens,
            prompt_tokens=asked,
            completion_tokens=length,
            fingerprint=self._revision,
            latency=latency,
            tokens=None if likely is None else tuple(self._tokens(tokens[:length], likely)),
        )

    def _tokens(self, tokens: list[int], likely: Sequence[Sequence[tuple[int, float]]]) -> Iterator[Token]:
        """The tokens of a reply in UTF-8. Each is what it adds to those before it, since some decode to less alone."""
        before = ""
        for place, (token, others) in enumerate(zip(tokens, likely, strict=False), start=1):
            whole = self._tokenizer.decode(tokens[:place], skip_special_tokens=True)
            content = _utf8(whole[len(before) :])
            listed = [(self._decoded(other), chance) for other, chance in others if other != token]
            listed += [(content, chance) for other, chance in others if other == token]
            yield Token(content, tuple(listed))
            before = whole

    def _decoded(self, token: int) -> bytes:
        if token not in self._texts:
            self._texts[token] = _utf8(self._tokenizer.decode([token]))
        return self._texts[token]

    def _drawing(self, queries: Sequence[Query]) -> Drawing:
        return Drawing([seed_of(query) for query in queries], self._options.temperature, self._options.top_p)


class Recording(transformers.LogitsProcessor):  # type: ignore[misc] # transformers is typed as it pleases
    """Keeps the most probable tokens of each step, by the model itself: before temperature, top-p and noise."""

    def __init__(self) -> None:
        self._steps: list[tuple[list[list[int]], list[list[float]]]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores as they are."""
        del input_ids
        chances = scores.float().softmax(dim=-1)
        found = chances.topk(min(MOST, chances.shape[1]), dim=-1)
        self._steps.append((found.indices.tolist(), found.values.tolist()))
        return scores

    def of(self, row: int) -> list[list[tuple[int, float]]]:
        """The tokens and their probabilities at each step of one reply, 0 to 1."""
        return [list(zip(tokens[row], chances[row], strict=True)) for tokens, chances in self._steps]


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class Drawing(transformers.LogitsProcessor):  # type: ignore[misc] # transformers is typed as it pleases
    """Makes the most probable token one that is drawn: each row by a seed of its own, whatever batch it is in.

    Gumbel noise on log-probabilities: its maximum is distributed as the softmax (Gumbel, 1954).
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float) -> None:
        # On the CPU: a GPU would draw other numbers.
        self._chances = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._temperature = temperature
        self._narrow = transformers.TopPLogitsWarper(top_p) if top_p < 1 else None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with noise."""
        cooled = scores.float() / self._temperature
        if self._narrow is not None:
            cooled = self._narrow(input_ids, cooled)
        uniform = torch.stack([torch.rand(scores.shape[1], generator=chance) for chance in self._chances])
        return cooled - (-uniform.clamp_min(1e-20).log()).log().to(scores.device)


def prompt(tokenizer: Any, query: Query, system: str | None) -> str:
    """The conversation as the model's chat template has it; of a model without one its texts, a blank line between."""
    first = [{"role": "system", "content": system}] if system is not None else []
    turns = [*first, *({"role": each.role, "content": each.content} for each in query.messages)]
    if tokenizer.chat_template is None:
        return "\n\n".join(each["content"] for each in turns)
    text: str = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    if len(text) > LONGEST:
        raise ValueError(f"the chat template makes {len(text):,} characters of a prompt, more than {LONGEST:,}")
    return text
