"""Models that run on this machine, of the real classes of transformers and diffusers, tiny and random."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.core.domain import Message, ProbabilityState, Reply
from fairgate.core.errors import CallFailed, ConfigError
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.providers.local.options import ImageOptions, Named, TextOptions
from fairgate.providers.python.child_process import Child
from tests.builders import query
from tests.tiny_models import tiny_llama, tiny_pipeline, tiny_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="the extra hf is not installed")
transformers = pytest.importorskip("transformers", reason="the extra hf is not installed")
PROMPTS = [f"{'Which of them? ' * (number % 3)}Number {number}. A. x B. y C. z D. w" for number in range(12)]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("diffusers", reason="the extra diffusers is not installed")
    return tiny_pipeline(tmp_path_factory.mktemp("pipeline"))


def text(llama: Path, *given: str, places: int = 16, system: str | None = None, probabilities: bool = False) -> Child:
    named = Named.of("hf", str(llama), ["max_new_tokens=3", "dtype=float32", *given], TextOptions, system)
    return Child(named.identity, "fairgate.providers.local.hf:load", (named, places, probabilities), 120)


def ask(model: Child, prompts: Sequence[str], start: int = 0) -> list[Any]:
    async def all_of_them() -> list[Any]:
        asked = (replace(query(), prompt=prompt, index=start + at) for at, prompt in enumerate(prompts))
        try:
            return await asyncio.gather(*(model.ask(each) for each in asked), return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def test_probabilities_come_with_the_reply_change_nothing_and_sum_to_less_than_one(llama: Path) -> None:
    """Of a tokenizer of a token a byte, whose likeliest tokens are letters."""
    plain = ask(text(llama, "max_new_tokens=1"), PROMPTS)
    replies = ask(text(llama, "max_new_tokens=1", probabilities=True), PROMPTS)
    alone = ask(text(llama, "max_new_tokens=1", "batch=1", probabilities=True), PROMPTS)
    assert [reply.text for reply in replies] == [reply.text for reply in plain]
    assert all(reply.tokens is reply.probabilities is None for reply in plain)
    for reply, other in zip(replies, alone, strict=True):
        found = reply.probabilities
        assert (reply.tokens, found.state, found.unlisted) == (None, ProbabilityState.KNOWN, 0)
        assert found.chosen == max(range(4), key=lambda place: found.letters[place])
        assert sum(found.letters) + found.outside == pytest.approx(1)
        assert other.probabilities.letters == pytest.approx(found.letters, abs=1e-4)


def test_a_batch_says_what_each_prompt_would_be_told_alone(llama: Path) -> None:
    together = ask(text(llama), PROMPTS)
    assert [reply.text for reply in together] == [reply.text for reply in ask(text(llama, "batch=1"), PROMPTS)]
    assert len({reply.text for reply in together}) > 1
    assert {reply.prompt_tokens for reply in together} == {len(prompt) for prompt in PROMPTS}, "padding is not counted"
    assert all(reply.completion_tokens == 3 and reply.truncated for reply in together), "it never ends by itself"


def test_a_reply_that_ends_by_itself_is_not_truncated(tmp_path: Path) -> None:
    folder = tiny_llama(tmp_path / "llama")
    settings = transformers.GenerationConfig.from_pretrained(folder)
    ends = transformers.AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(list("ABCD"))
    settings.eos_token_id = ends
    settings.save_pretrained(folder)
    [reply] = ask(text(folder), PROMPTS[:1])
    assert (reply.completion_tokens, reply.truncated) == (1, False)


def test_its_words_are_those_of_a_loop_over_generate(llama: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(llama, dtype=torch.float32).eval()
    words = transformers.AutoTokenizer.from_pretrained(llama)
    expected = []
    for prompt in PROMPTS:
        given = words(prompt, return_tensors="pt")
        made = model.generate(
            input_ids=given["input_ids"], attention_mask=given["attention_mask"], max_new_tokens=3, do_sample=False
        )
        expected.append(words.decode(made[0, given["input_ids"].shape[1] :], skip_special_tokens=True))
    assert [reply.text for reply in ask(text(llama), PROMPTS)] == expected


def test_what_is_drawn_repeats_by_query_in_any_batch_and_differs_between_queries(llama: Path) -> None:
    warm = ("temperature=3",)
    same = ["Which of them? A. x B. y C. z D. w"] * 12
    first = [reply.text for reply in ask(text(llama, *warm), same)]
    assert [reply.text for reply in ask(text(llama, *warm, "batch=5"), same)] == first
    assert [reply.text for reply in ask(text(llama, *warm, "batch=1"), same[:4], start=8)] == first[8:]
    assert len(set(first)) > 1, "repeats of one text are draws of their own"


def test_draws_follow_the_probabilities_of_the_model() -> None:
    from fairgate.providers.local.hf import Drawing

    scores = torch.tensor([[2.0, 1.0, 0.0, -1.0]])
    drawn = Counter(int(Drawing([seed], 2.0, 1.0)(torch.zeros(1, 1), scores).argmax()) for seed in range(4000))
    for token, share in enumerate(torch.softmax(scores[0] / 2.0, dim=0).tolist()):
        assert drawn[token] / 4000 == pytest.approx(share, abs=4 * (share * (1 - share) / 4000) ** 0.5)
    narrow = {int(Drawing([seed], 1.0, 0.7)(torch.zeros(1, 1), scores).argmax()) for seed in range(200)}
    assert narrow == {0, 1}


def test_a_chat_template_writes_the_conversation_and_the_system_prompt() -> None:
    from fairgate.providers.local.hf import prompt

    words, asked = tiny_tokenizer(), replace(query(), prompt="Now?", before=(Message("user", "Then?"),))
    assert prompt(words, asked, "Be brief.") == "Be brief.\n\nThen?\n\nNow?"
    words.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
    assert prompt(words, asked, "Be brief.") == "<system>Be brief.<user>Then?<user>Now?<assistant>"


def test_a_chat_template_that_takes_all_memory_fails_its_calls_alone(tmp_path: Path) -> None:
    folder = tiny_llama(tmp_path / "llama")
    words = transformers.AutoTokenizer.from_pretrained(folder)
    words.chat_template = (
        "{% set ns = namespace(x='a' * 100) %}{% for a in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"
    )
    words.save_pretrained(folder)
    for problem in ask(text(folder), PROMPTS[:4]):
        assert isinstance(problem, CallFailed)
        assert "the chat template takes more than 256 MiB of memory" in str(problem)


def test_other_weights_in_the_same_folder_are_another_model(tmp_path: Path) -> None:
    folder = tiny_llama(tmp_path / "llama")
    before = text(folder).identity
    assert text(folder, "batch=2", "device=cpu").identity == before, "how fast it runs does not matter"
    assert text(folder, "temperature=1").identity != before
    tiny_llama(folder, seed=1)
    assert text(folder).identity != before


def test_what_cannot_be_loaded_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for problem in ask(text(tmp_path), PROMPTS[:2]):
        assert isinstance(problem, ConfigError)
        assert "cannot be loaded" in str(problem)


def image(pipeline: Path, ledger: Path, *given: str) -> Child:
    named = Named.of("diffusers", str(pipeline), ["steps=2", *given], ImageOptions)
    return Child(named.identity, "fairgate.providers.local.diffusers:load", (named, 16, str(ledger)), 240)


def test_sixteen_calls_of_a_pipeline_at_once_all_have_their_images(pipeline: Path, tmp_path: Path) -> None:
    together = ask(image(pipeline, tmp_path / "l.sqlite"), PROMPTS + PROMPTS[:4])
    assert [type(reply) for reply in together] == [Reply] * 16
    store = ImageStore(tmp_path / "l.sqlite")
    images = [store.read(hash_in(reply.text) or "") for reply in together]
    assert all(each is not None and each.startswith(b"\x89PNG") for each in images)
    assert len(set(images)) == 16, "the same prompt is drawn anew"
    again = ask(image(pipeline, tmp_path / "l.sqlite"), PROMPTS + PROMPTS[:4])
    assert [reply.text for reply in again] == [reply.text for reply in together]


def test_loading_prints_no_progress_bars(
    llama: Path, pipeline: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ask(text(llama), PROMPTS[:1])
    ask(image(pipeline, tmp_path / "l.sqlite"), PROMPTS[:1])
    assert "it/s]" not in capfd.readouterr().err


def test_a_pipeline_given_as_a_callable_is_called_by_one_thread(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairgate.providers.python.images import PythonImageModel

    (tmp_path / "piped.py").write_text(
        "import diffusers\n"
        f"pipe = diffusers.DiffusionPipeline.from_pretrained({str(pipeline)!r})\n"
        "pipe.set_progress_bar_config(disable=True)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    image_model = PythonImageModel("piped:pipe", ImageStore(tmp_path / "l.sqlite"))
    assert (image_model.places, image_model.turns) == (1, 1)

    async def all_of_them() -> list[Reply | BaseException]:
        asked = [image_model.ask(replace(query(), prompt=prompt)) for prompt in PROMPTS[:6]]
        try:
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await image_model.close()

    assert [type(reply) for reply in asyncio.run(all_of_them())] == [Reply] * 6


def test_an_image_without_colours_is_a_failed_sample(pipeline: Path, tmp_path: Path) -> None:
    import diffusers

    broken = diffusers.DiffusionPipeline.from_pretrained(pipeline)
    with torch.no_grad():
        broken.vae.decoder.conv_out.weight.fill_(float("nan"))
    broken.save_pretrained(tmp_path / "broken")
    [reply] = ask(image(tmp_path / "broken", tmp_path / "l.sqlite"), PROMPTS[:1])
    assert isinstance(reply, CallFailed)
    assert "NaN" in str(reply)


@pytest.mark.parametrize("place", ["pipe.py", "unet/pipe.py"])
def test_a_folder_with_code_is_refused_and_nothing_of_it_runs(pipeline: Path, tmp_path: Path, place: str) -> None:
    folder = tmp_path / "hostile"
    shutil.copytree(pipeline, folder)
    (folder / place).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
    index = json.loads((folder / "model_index.json").read_text(encoding="utf-8"))
    index |= {"_class_name": ["pipe", "Pipe"]} if place == "pipe.py" else {"unet": ["pipe", "Pipe"]}
    (folder / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    named = Named.of("diffusers", str(folder), [], ImageOptions)
    model = Child(named.identity, "fairgate.providers.local.diffusers:load", (named, 1, str(tmp_path / "l")), 120)
    [outcome] = ask(model, PROMPTS[:1])
    assert isinstance(outcome, ConfigError)
    assert f"it holds code of its own, {place}" in str(outcome)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("config", ["[1, 2]", '{"model_type": "llama", "hidden_size": -5, "num_hidden_layers": [1]}'])
def test_a_folder_of_anything_is_one_clear_error(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    [outcome] = ask(text(tmp_path), PROMPTS[:1])
    assert isinstance(outcome, ConfigError)
    assert "it cannot be loaded" in str(outcome)
