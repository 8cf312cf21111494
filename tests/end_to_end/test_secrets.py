"""Keys planted wherever a key can stand, and searched for in every file and every line that runs leave behind."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.running import Outcome, arguments, bench_many
from tests.servers.chat import ChatStub, Fault, answer_by_prompt, error, every_time, redirect, wrong_key
from tests.servers.messages import MessagesStub

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

# Distinctive, and none of them of a form that looks like a key.
KEY = "planted/alpha+4417"
JUDGE = "planted-bravo-9923"
OTHER = "planted-charlie-3056"
USER, PASSWORD = "planted-delta-user", "planted-echo-7781"
QUERY = "planted-foxtrot-6142"
ARGUMENT = "planted-golf-8853"
SECRETS = (KEY, JUDGE, OTHER, USER, PASSWORD, QUERY, ARGUMENT)
HTML = f"<p>{KEY} {QUERY}</p>".encode()
CRASH = "test_subjective[crime-rate-high-base-race]"
ENV = {
    "OPENAI_API_KEY": KEY,
    "JUDGE_API_KEY": JUDGE,
    "ANTHROPIC_API_KEY": OTHER,
    "OPENAI_ORGANIZATION": "",
    "CRASH_IN": CRASH,
}

CALLABLE = """

def raises(prompt):
    raise ValueError("my key is sk-" + "planted-callable-2290")

def answers(prompt):
    return '{"answer": "A"}'
"""


def echoing(status: int) -> Fault:
    """An error that says what it was sent."""
    return error("echo", status, "You sent {authorization} to {url}", code="{authorization}")


def forms() -> set[bytes]:
    """Each secret in every form in which it travels."""
    pair = f"{USER}:{PASSWORD}"
    found = {form for each in (*SECRETS, pair) for form in (each, quote(each, safe=""), quote(each))}
    found |= {base64.b64encode(each.encode()).decode() for each in (*SECRETS, pair)}
    return {each.encode() for each in found} | {b"planted-callable-2290"}


class Gossip(ChatStub):
    """Answers well, and says with it whatever it was sent: a proxy that debugs, say."""

    def _answer(self, model: str, prompt: str) -> bytes:
        sent = f"{self.last_headers.get('Authorization')} {self.last_url}"
        self.raw = {"model": f"{model} {sent}", "system_fingerprint": sent}
        self.reply = lambda asked: f"{answer_by_prompt(asked)} {sent}"
        return super()._answer(model, prompt)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    root = tmp_path_factory.mktemp("secrets")
    (root / "planted.py").write_text(CALLABLE)
    stubs = {
        "echoes 500": ChatStub(plan=every_time(echoing(500))),
        "echoes 400": ChatStub(plan=every_time(echoing(400))),
        "echoes 401": ChatStub(plan=every_time(echoing(401))),
        "wrong key": ChatStub(plan=every_time(wrong_key())),
        "redirects": ChatStub(plan=every_time(redirect(f"https://sso.invalid/?key={KEY}"))),
        "says html": ChatStub(plan=every_time(Fault("h", body=HTML, content_type="text/html"))),
        "answers": ChatStub(),
        "gossips": Gossip(),
        "gossips of the key": Gossip(),
        "other": MessagesStub(plan=every_time(echoing(403))),
    }
    try:
        given = {}
        for name, stub in stubs.items():
            stub.__enter__()
            address = f"http://{USER}:{quote(PASSWORD)}@127.0.0.1:{stub.port}/v1?key={QUERY}&sig=x"
            plain = name in ("echoes 401", "other", "gossips of the key")
            url = f"http://127.0.0.1:{stub.port}/v1?key={QUERY}" if plain else address
            provider = "anthropic" if name == "other" else "openai"
            given[name] = [f"--model={provider}/tiny", f"--base-url={url}"]
        judged = ["--judge=openai/wise", f"--judge-base-url={given['echoes 500'][1].partition('=')[2]}"]
        given["judge echoes"] = [*given["answers"], *judged]
        given["secret argument"] = [*given["answers"], f"--model-arg=api_key={ARGUMENT}"]
        given["worker crashes"] = [*given["answers"], "-n1", "-p", "tests.plugin.crash"]
        given["callable raises"] = ["--model=python/planted:raises"]
        every = [
            arguments(
                root / name,
                *options,
                *("--request-timeout=20", "-rA", "-vv", "--log-level=DEBUG", "-o", "log_cli=true"),
                f"--save-baseline={root / name / 'baseline.json'}",
                *(f"--log-file={root / name / 'log.txt'}", "--log-file-level=DEBUG", "--showlocals"),
                f"--junitxml={root / name / 'junit.xml'}",
                f"--alluredir={root / name / 'allure'}",
                *(() if "crashes" in name else ("-p", "no:xdist")),
                *("-k", "dialogue and gender" if "judge" in name else "crime and base and high"),
            )
            for name, options in given.items()
        ]
        for name in given:
            (root / name).mkdir()
        ended = bench_many(root, every, env=ENV)
    finally:
        for stub in stubs.values():
            stub.__exit__()
    return {name: Outcome(end.code, end.output, root / name) for name, end in zip(given, ended, strict=True)}


def test_the_runs_came_as_far_as_they_should(runs: dict[str, Outcome]) -> None:
    codes = {name: run.code for name, run in runs.items()}
    assert codes["answers"] in (0, 1, 6), runs["answers"].output
    for name in ("gossips", "gossips of the key"):
        assert codes[name] in (0, 1, 6), runs[name].output
        # It was told, and what it said of it is gone from its replies.
        assert b"[hidden]" in (runs[name].folder / "report" / "index.html").read_bytes()
    for name in ("answers", "gossips", "gossips of the key"):
        assert (runs[name].folder / "baseline.json").stat().st_size > 0
    assert codes["secret argument"] == 4
    well = ("answers", "gossips", "gossips of the key", "secret argument")
    assert {codes[name] for name in codes if name not in well} == {7}, codes
    assert "crashed" in runs["worker crashes"].output


def test_no_secret_is_in_any_file_or_line(runs: dict[str, Outcome]) -> None:
    wanted = forms()
    files = 0
    for name, run in runs.items():
        texts = {"output": run.output.encode()}
        texts |= {str(path): path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
        files += len(texts)
        for where, text in texts.items():
            found = {each for each in wanted if each in text}
            assert not found, f"{name}: {where}: {found}"
    assert files > 8 * len(runs)


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a " + quote(KEY, safe="").encode())
    assert any(each in (tmp_path / "x").read_bytes() for each in forms())
