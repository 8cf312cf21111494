"""Looking after a ledger: what it holds, whether it is sound, what of it is thrown away, and a reviewer's marks."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from fairgate.core.domain import AnswerKind, Form
from fairgate.core.errors import LedgerError
from fairgate.core.plural import counted
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.ledger.ledger import SCORED, key_begun, key_ended, row_sum
from fairgate.ledger.marks import MARKS
from fairgate.ledger.paths import COMPANIONS, place_of
from fairgate.ledger.rows import Kept, SampleCounts, Started, damaged, decoded, identity_of, shown
from fairgate.ledger.runs import RunState
from fairgate.replies.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fairgate.core.domain import Identity
    from fairgate.ledger.ledger import Ledger

SHOWN = 5  # of what is alike
IN_TOPIC = "substr(query, 1, instr(query, '#') - 1)"


# What it holds


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model answered: samples by kind, as they were read when they came; tokens where they were counted."""

    model: Identity
    kinds: Counter[str]
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run: `started_at` in seconds since 1970, by the clock of its machine.

    `members` are the runs that were merged into it; `asked` are their samples too.
    """

    id: str
    model: str
    state: str
    message: str
    started_at: float
    asked: int
    failed: int
    members: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether it ended early, without a sample: a wrong key, a name that no server knows."""
        return not self.asked and self.state != RunState.DONE


@dataclass(frozen=True)
class Survey:
    """What a ledger holds. `topics`: samples by kind; `failures`: how often each reason was given."""

    size: int
    schema: int
    models: tuple[ModelUsage, ...]
    topics: dict[str, Counter[str]]
    runs: tuple[RunSummary, ...]
    failures: Counter[str]
    marks: int
    waiting: int
    kinds: Counter[str] = field(default_factory=Counter)


def survey(ledger: Ledger) -> Survey:
    """Count what a ledger holds."""
    database, where = ledger.database, str(ledger.path)
    with ledger.translated():
        counts: dict[str, list[SampleCounts]] = {}
        for row in database.execute(
            "SELECT cast(model AS TEXT), kind, count(*), total(prompt_tokens), total(completion_tokens)"
            " FROM samples WHERE model IN (SELECT id FROM models) GROUP BY model, kind"
        ):
            each = decoded(SampleCounts, row, "samples", where)
            counts.setdefault(each.of, []).append(each)
        models = tuple(
            _usage(identity_of(identity, where), counts[number])
            for number, identity in database.execute("SELECT cast(id AS TEXT), identity FROM models ORDER BY id")
            if number in counts
        )
        topics: dict[str, Counter[str]] = {}
        for row in database.execute(
            f"SELECT {IN_TOPIC}, kind, count(*) FROM samples GROUP BY 1, 2 ORDER BY 1"  # noqa: S608 - our own words
        ):
            each = decoded(SampleCounts, row, "samples", where)
            topics.setdefault(each.of, Counter())[each.kind] = each.count
        asked = dict(database.execute("SELECT run, count(*) FROM samples GROUP BY run").fetchall())
        failed = dict(database.execute("SELECT run, count(*) FROM failures GROUP BY run").fetchall())
        runs = tuple(
            _past(decoded(Started, row, "runs", where), where, asked, failed)
            for row in database.execute("SELECT id, about, state, message, started_at FROM runs ORDER BY rowid")
        )
        failures = Counter(
            dict(database.execute("SELECT reason, count(*) FROM failures GROUP BY reason ORDER BY 2 DESC").fetchall())
        )
        pages, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        [waiting] = database.execute("SELECT count(*) FROM batched").fetchone()
        return Survey(
            size=pages * size,
            schema=ledger.schema,
            models=models,
            topics=topics,
            runs=runs,
            failures=failures,
            marks=len(_marked(ledger)),
            waiting=waiting,
            kinds=sum((each.kinds for each in models), Counter()),
        )


def _usage(model: Identity, counts: Sequence[SampleCounts]) -> ModelUsage:
    return ModelUsage(
        model,
        Counter({each.kind: each.count for each in counts}),
        sum(int(each.prompt_tokens) for each in counts),
        sum(int(each.completion_tokens) for each in counts),
    )


def _past(run: Started, where: str, asked: Mapping[str, int], failed: Mapping[str, int]) -> RunSummary:
    try:
        about = msgspec.json.decode(run.about, type=_About)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise damaged(f"about of a row of runs: {error}: {shown(run.about)}", where) from None
    model = "no language model" if about.identity is None else f"{about.identity.provider}/{about.identity.name}"
    members = frozenset(about.members or ()) - {run.id}
    samples = sum(asked.get(each, 0) for each in (run.id, *members))
    return RunSummary(run.id, model, run.state, run.message, run.started_at, samples, failed.get(run.id, 0), members)


class _Named(msgspec.Struct):
    provider: str
    name: str


class _About(msgspec.Struct):
    identity: _Named | None = None
    members: tuple[str, ...] | None = None


def _marked(ledger: Ledger) -> dict[bytes, str]:
    """The words that count, by key."""
    return {key: word for key, word, *_ in ledger.database.execute(MARKS)}


# Whether it is sound


def problems(ledger: Ledger) -> Iterator[str]:
    """What is wrong with a ledger, a sentence each: the file, who may read it, its keys, what belongs together."""
    database = ledger.database
    with ledger.translated():
        for (said,) in database.execute("PRAGMA integrity_check").fetchall():
            if said != "ok":
                yield f"SQLite finds it damaged: {said}."
        for table, *_ in database.execute("PRAGMA foreign_key_check").fetchall():
            yield f"A row of {table} names what is not there."
    yield from _readable_by_others(ledger.path)
    yield from sample_problems(ledger)
    with ledger.translated():
        lost = database.execute("SELECT count(*) FROM marks WHERE key NOT IN (SELECT key FROM samples)").fetchone()[0]
        if lost:
            yield f"{counted(lost, 'mark')} of samples that are not there."


def _readable_by_others(path: Path) -> Iterator[str]:
    place, folder = place_of(path), ImageStore(path).folder
    for each in (*(place.with_name(f"{place.name}{end}") for end in COMPANIONS), folder):
        if each.exists() and (mode := each.stat().st_mode & 0o777) & 0o077:
            yield f"{each.name} may be read by others (mode {mode:o}): chmod go= {each.name}"


def sample_problems(ledger: Ledger, *, images: bool = True) -> Iterator[str]:
    """What is wrong with the samples: keys that are not those of their rows, choices without an option, models that
    are not there; and, unless told otherwise, images that are gone or changed.
    """
    store = ImageStore(ledger.path)
    wrong: dict[str, list[str]] = {}
    with ledger.translated():
        [lost] = ledger.database.execute(
            "SELECT count(*) FROM samples WHERE model NOT IN (SELECT id FROM models)"
        ).fetchone()
        if lost:
            yield f"{counted(lost, 'sample')} of a model that is not there."
        # An identity is as long as a system prompt is: read and summed up once, not once a sample.
        begun = {
            number: key_begun(identity)
            for number, identity in ledger.database.execute("SELECT id, identity FROM models")
            if isinstance(identity, str)
        }
        for key, model, query, prompt, kind, choice, checked, *held in ledger.database.execute(
            f"SELECT key, model, query, prompt, kind, choice, checked, {SCORED}"  # noqa: S608 - our own words
            " FROM samples WHERE model IN (SELECT id FROM models) ORDER BY key"
        ):
            reply = held[0]
            texts = all(isinstance(each, str) for each in (query, prompt, kind, reply))
            if not texts or model not in begun or not isinstance(key, bytes):
                wrong.setdefault("of other types than were stored", []).append(shown(query))
                continue
            if checked is not None and checked != row_sum(key, held):
                wrong.setdefault("not as stored", []).append(query)
            if key != key_ended(begun[model], query, prompt):
                wrong.setdefault("not what the key says", []).append(query)
            if (kind == AnswerKind.CHOSEN) != (choice is not None):
                wrong.setdefault("of a kind that does not go with the choice", []).append(query)
            image = hash_in(reply) if images else None
            if image is not None and not _is_whole(store, image):
                wrong.setdefault("with an image that is gone or changed", []).append(query)
    for what, queries in wrong.items():
        more = f" and {len(queries) - SHOWN} more" if len(queries) > SHOWN else ""
        yield f"{counted(len(queries), 'sample')} {what}: {', '.join(queries[:SHOWN])}{more}."


def _is_whole(store: ImageStore, image: str) -> bool:
    try:
        store.read(image)
    except LedgerError:
        return False
    return True


# What is thrown away


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much a pruning throws away, or would."""

    samples: int
    failures: int
    runs: int
    marks: int
    images: int


def prune(
    ledger: Ledger, *, before: float | None = None, model: str | None = None, failures: bool = False, really: bool
) -> Pruned:
    """Throw away samples and failures of runs that began before a time (seconds since 1970), of a model
    (PROVIDER/NAME), or of both where both are given; with `failures` those alone. Without `really` it only counts.

    Marks of what goes go too, images that no sample has any more, and runs of which nothing is left. The file shrinks.
    """
    database = ledger.database
    limits = ["1"]
    given: list[object] = []
    if before is not None:
        limits.append("run IN (SELECT id FROM runs WHERE started_at < ?)")
        given.append(before)
    if model is not None:
        limits.append("model IN (SELECT value FROM json_each(?))")
        given.append(json.dumps(_ids_of(ledger, model)))
    sampled = " AND ".join(limits)
    # A failure knows no model: those of runs that asked this model count.
    failed = sampled.replace("model IN (SELECT value FROM json_each(?))", "run IN (SELECT value FROM json_each(?))")
    emptied = failed.replace("run IN", "id IN")
    given_failed = [*given]
    if model is not None:
        given_failed[-1] = json.dumps([each.id for each in survey(ledger).runs if each.model == model])
    with ledger.translated():
        database.execute("PRAGMA secure_delete=ON")
        database.execute("BEGIN IMMEDIATE")
        try:
            pruned = _pruned(ledger, sampled, given, failed, emptied, given_failed, only_failures=failures)
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT" if really else "ROLLBACK")
        if really:
            for image in () if failures else _orphans(ledger):
                image.unlink(missing_ok=True)
            database.execute("VACUUM")
            # Until then all is still to be read in the file.
            [busy, *_] = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise LedgerError(
                    "what was pruned counts no more, but can still be read in the file: another program is reading it.",
                    where=str(ledger.path),
                    hint="Let it end, then prune again.",
                )
    return pruned


def _pruned(
    ledger: Ledger,
    sampled: str,
    given: Sequence[object],
    failed: str,
    emptied: str,
    given_failed: Sequence[object],
    *,
    only_failures: bool,
) -> Pruned:
    def deleted(statement: str, values: Sequence[object] = ()) -> int:
        return ledger.database.execute(statement, values).rowcount

    lost = deleted(f"DELETE FROM failures WHERE {failed}", given_failed)  # noqa: S608 - our own words
    if only_failures:
        return Pruned(0, lost, 0, 0, 0)
    samples = deleted(f"DELETE FROM samples WHERE {sampled}", given)  # noqa: S608 - our own words
    marks = deleted("DELETE FROM marks WHERE key NOT IN (SELECT key FROM samples)")
    # A run of which nothing is left would be judged as one that got no answer.
    runs = deleted(
        f"DELETE FROM runs WHERE {emptied} AND id NOT IN (SELECT run FROM samples)"  # noqa: S608 - our own words
        " AND id NOT IN (SELECT run FROM failures)",
        given_failed,
    )
    deleted("DELETE FROM sampled WHERE run NOT IN (SELECT id FROM runs)")
    return Pruned(samples, lost, runs, marks, len(_orphans(ledger)))


def forget_batches(ledger: Ledger, *, really: bool) -> int:
    """Forget what is in batches that were not fetched; how many samples that is. The next run asks for them again."""
    with ledger.translated():
        [waiting] = ledger.database.execute("SELECT count(*) FROM batched").fetchone()
        if really:
            ledger.database.execute("DELETE FROM batched")
            ledger.database.execute("DELETE FROM batches")
    return int(waiting)


def _ids_of(ledger: Ledger, label: str) -> list[int]:
    with ledger.translated():
        rows = ledger.database.execute("SELECT id, identity FROM models").fetchall()
    named = [(number, identity_of(identity, str(ledger.path)).label) for number, identity in rows]
    found = [number for number, name in named if name == label]
    if not found:
        known = sorted({name for _, name in named})
        raise LedgerError(
            f"holds nothing of {label!r}.", where=str(ledger.path), hint=f"It knows: {', '.join(known) or 'no model'}."
        )
    return found


def _orphans(ledger: Ledger) -> list[Path]:
    """Images that no sample has."""
    store = ImageStore(ledger.path)
    rows = ledger.database.execute("SELECT reply FROM samples WHERE reply LIKE 'sha256:%'")
    held = {hash_in(reply) for (reply,) in rows}
    return [path for path in store.kept() if path.name not in held]


# A reviewer's marks


@dataclass(frozen=True, slots=True)
class MarkableSample:
    """A sample as a reviewer names it. `words`: what it may be marked as, None where an old ledger does not say."""

    key: bytes
    model: str
    query: str
    reply: str
    kind: str
    choice: int | None
    words: tuple[str, ...] | None


NOT_READ = (AnswerKind.REFUSED, AnswerKind.UNREADABLE, AnswerKind.TRUNCATED)
JUDGED: dict[str, tuple[str, ...]] = {
    Form.TEXT: ("said",),
    Form.VERDICT: ("yes", "no"),
    Form.MARK: tuple(str(mark) for mark in range(11)),
    Form.KIND: tuple(Reason),
}
ANY = re.compile(r"[A-Z]|yes|no|said|\d{1,2}|representativeness|attribution|in-group|none|refused|unreadable|truncated")


def find(ledger: Ledger, name: str, model: str | None = None) -> MarkableSample:
    """The sample of this query id, or whose key begins so (hex, eight digits or more). Raises LedgerError where there
    is none, or more than one.
    """
    by_key = re.fullmatch(r"[0-9a-f]{8,32}", name) is not None
    where = "lower(hex(key)) LIKE ? || '%'" if by_key else "query = ?"
    with ledger.translated():
        rows = ledger.database.execute(
            "SELECT key, identity, query, reply, kind, choice, form, letters"  # noqa: S608 - our own words
            f" FROM samples JOIN models ON model = models.id WHERE {where} LIMIT 20",
            (name,),
        ).fetchall()
    found = [_found(row, str(ledger.path)) for row in rows]
    found = [each for each in found if model is None or each.model == model]
    if not found:
        raise LedgerError(
            f"holds no sample {name!r}{f' of {model}' if model else ''}.",
            where=str(ledger.path),
            hint="Name a sample as the reports do, such as BENCHMARK/text/TASK/crime-rate-high#17.",
        )
    if len(found) > 1:
        keys = ", ".join(f"{each.key.hex()[:12]} ({each.model})" for each in found)
        raise LedgerError(
            f"{len(found)} samples are named {name!r}: {keys}.", where=str(ledger.path), hint="Name one by its key."
        )
    return found[0]


def _found(row: Sequence[object], where: str) -> MarkableSample:
    held = decoded(Kept, row, "samples", where)
    words: tuple[str, ...] | None = None
    if held.form == Form.CHOICE:
        words = (*(held.letters or ""), *NOT_READ)
    elif held.form is not None:
        words = (*JUDGED.get(held.form, ()), *NOT_READ)
    label = identity_of(held.identity, where).label
    return MarkableSample(held.key, label, held.query, held.reply, held.kind, held.choice, words)


def mark(ledger: Ledger, sample: MarkableSample, word: str, *, who: str, why: str) -> str:
    """Keep that this sample's reply says `word`; the word as it is kept.

    Raises LedgerError for a word that it cannot say.
    """
    kept = word.upper() if len(word) == 1 and word.isalpha() else word.lower()
    fits = ANY.fullmatch(kept) is not None if sample.words is None else kept in sample.words
    if not fits:
        raise LedgerError(
            f"{word!r} is not a valid answer to {sample.query}.",
            where=str(ledger.path),
            hint=f"Give one of: {', '.join(sample.words or (ANY.pattern.replace('|', ', '),))}.",
        )
    ledger.marks.add(sample.key, kept, who, why)
    return kept


def unmark(ledger: Ledger, sample: MarkableSample, *, who: str, why: str) -> None:
    """Let the parser read this sample again. Raises LedgerError where it bears no mark."""
    if sample.key not in _marked(ledger):
        raise LedgerError(f"{sample.query} bears no mark.", where=str(ledger.path))
    ledger.marks.add(sample.key, None, who, why)


def samples_of(ledger: Ledger, kind: str, limit: int) -> list[MarkableSample]:
    """The first samples of a kind, as they were read when they came."""
    with ledger.translated():
        rows = ledger.database.execute(
            "SELECT key, identity, query, reply, kind, choice, form, letters"
            " FROM samples JOIN models ON model = models.id WHERE kind = ? ORDER BY query LIMIT ?",
            (kind, limit),
        ).fetchall()
    return [_found(row, str(ledger.path)) for row in rows]
