"""thresholds.toml: what is wrong in it is said before anything is asked, with place, value and mend."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

import msgspec
import pytest

from fairgate.benchmarks.f2bench import specs as f2bench
from fairgate.benchmarks.fact_or_fair import specs as fact_or_fair
from fairgate.benchmarks.fact_or_fair.topics import Context
from fairgate.benchmarks.registry import Registry
from fairgate.benchmarks.scores import Score, TaskSpec
from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError, PluginError
from fairgate.gating.gate import names
from fairgate.gating.thresholds import load
from tests.plugins import REGISTRY, Declared
from tests.running import CHECKOUT, LIMITS

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
schema = 1
[plans.quick]
objective = 3
subjective = 10
reason = "long enough a reason"
[cases]
alpha = 0.025
entropy_min = 60
gap_max = 70
reason = "long enough a reason"
[allowed]
failed = 2
reason = "long enough a reason"
"""
GATE = """
[[gates]]
score = "TV"
task = "subjective"
max = 20
reason = "long enough a reason"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "limits.toml"


def refused(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, REGISTRY)
    said = str(caught.value)
    assert said.startswith(str(path)), said
    return said


def test_a_key_of_many_parts_is_refused_before_it_takes_the_square_of_their_number(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    for text in ("a." * 20_000 + "a = 1", '["a" ' + '. "a" ' * 20_000 + "]", "x = {" + "a . " * 20_000 + "a = 1}"):
        path.write_text(text)
        began = process_time()
        with pytest.raises(ConfigError, match="a key of more than 20 parts"):
            load(path, REGISTRY)
        assert process_time() - began < 5  # a square takes half a minute


def test_files_that_extend_one_another_are_ten_at_most(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.toml").write_text(f'extend = "{number + 1}.toml"\n')
    (tmp_path / "30.toml").write_text('extend = "default"\n')
    with pytest.raises(ConfigError, match="more than 10 files extend one another"):
        load(tmp_path / "0.toml", REGISTRY)


def test_the_projects_own_files_are_in_order() -> None:
    for path in (CHECKOUT / "thresholds.toml", LIMITS):
        thresholds = load(path, REGISTRY)
        assert {"quick", "paper"} <= thresholds.plans.keys()
        assert thresholds.plan("paper").size("fact-or-fair").objective == 3
        assert thresholds.plan("paper").size("fact-or-fair").subjective == 100
        assert {gate.score for gate in thresholds.gates} >= {"S_fact", "TV", "refused"}


def test_what_is_written_is_read(path: Path) -> None:
    path.write_text(HEAD + GATE)
    thresholds = load(path, REGISTRY)
    assert thresholds.plan("quick").size("fact-or-fair") == fact_or_fair.Plan(objective=3, subjective=10)
    assert (thresholds.cases.alpha, thresholds.allowed.failed) == (0.025, 2)
    [gate] = thresholds.gates
    assert (gate.score, gate.task, gate.min, gate.max, gate.attribute) == ("TV", "subjective", None, 20, None)
    assert gate.contexts == tuple(Context)


@pytest.mark.parametrize(
    ("given", "contexts"),
    [
        ('context = "base"', (Context.BASE,)),
        ('context = ["ingroup", "base"]', (Context.INGROUP, Context.BASE)),
        ('attribute = "race"', tuple(Context)),
    ],
)
def test_a_gate_may_be_about_some_contexts(path: Path, given: str, contexts: tuple[Context, ...]) -> None:
    path.write_text(f"{HEAD}{GATE}{given}\n")
    assert load(path, REGISTRY).gates[0].contexts == contexts


def test_objective_gates_have_no_contexts(path: Path) -> None:
    path.write_text(HEAD + GATE.replace("subjective", "objective"))
    assert load(path, REGISTRY).gates[0].contexts == (None,)


def test_an_unknown_plan_is_named_with_a_suggestion(path: Path) -> None:
    path.write_text(HEAD + GATE)
    with pytest.raises(ConfigError, match=r"--plan: no plan 'quik'\. Did you mean 'quick'\?"):
        load(path, REGISTRY).plan("quik")


@pytest.mark.parametrize(
    ("given", "place", "said"),
    [
        ("maximum = 30", "gates[0]", "unknown key 'maximum'"),
        ("mxa = 30", "gates[0]", "unknown key 'mxa'. Did you mean 'max'?"),
        ('contexts = "base"', "gates[0]", "unknown key 'contexts'. Did you mean 'context'?"),
        ("min = 30", "gates[0]", "min = 30 is above max = 20."),
        ("min = nan", "gates[0]", "nan"),
        ("min = -1", "gates[0].min", "-1"),
        ("min = 100.5", "gates[0].min", "100.5"),
        ("min = inf", "gates[0].min", "inf"),
        ('min = "75"', "gates[0].min", "'75'"),
        ('context = "bas"', "gates[0].context", "'bas'"),
        ("context = []", "gates[0]", "no context"),
        ("attribute = 3", "gates[0].attribute", "3"),
    ],
)
def test_a_gate_that_is_wrong_is_named(path: Path, given: str, place: str, said: str) -> None:
    message = refused(path, f"{HEAD}{GATE}{given}\n")
    assert place in message
    assert said in message


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ('"TV"', '"S_fiar"', "gates[0]", "'S_fiar' is no score. Did you mean 'S_fair'?"),
        ('task = "subjective"', 'task = "subjectiv"', "gates[0].task", "Did you mean 'subjective'?"),
        ('task = "subjective"', "", "gates[0]", "`task`"),
        ("max = 20", "", "gates[0]", "neither min nor max"),
        ("max = 20", "max = 200", "gates[0].max", "200"),
        ('subjective"', 'objective"\ncontext = "base"', "gates[0]", "context"),
        ('"TV"', '"refused"\nattribute = "race"', "gates[0]", "attribute"),
        ("schema = 1", "schema = 2", "schema", "2"),
        ("schema = 1", "", "top level", 'Add schema = 1, or extend = "default" to override single keys.'),
        ("schema = 1", "schema = 1\nplan = 3", "top level", "unknown key 'plan'. Did you mean 'plans'?"),
        ("objective = 3", "objective = -1", "plans.quick.objective", "-1"),
        ("objective = 3", "objective = 2.5", "plans.quick.objective", "2.5"),
        ("objective = 3", "objectiv = 3", "plans.quick", "Did you mean 'objective'?"),
        ("alpha = 0.025", "alpha = 0", "cases.alpha", "0"),
        ("alpha = 0.025", "alpha = 0.9", "cases.alpha", "0.9"),
        ("alpha = 0.025", "alpha = nan", "cases.alpha", "nan"),
        ("entropy_min = 60", "entropy_min = nan", "cases.entropy_min", "nan"),
        ("gap_max = 70", "gap_max = -nan", "cases.gap_max", "nan"),
        ("gap_max = 70", "gapmax = 70", "cases", "Did you mean 'gap_max'?"),
        ("failed = 2", "failed = nan", "allowed.failed", "nan"),
        ("failed = 2", "failed = 101", "allowed.failed", "101"),
        ("failed = 2", "", "allowed", "`failed`"),
        ("[plans.quick]", "[plan.quick]", "top level", "unknown key 'plan'"),
    ],
)
def test_a_value_that_is_wrong_is_named(path: Path, old: str, new: str, place: str, said: str) -> None:
    message = refused(path, (HEAD + GATE).replace(old, new, 1))
    assert place in message
    assert said in message


def test_every_limit_has_a_reason(path: Path) -> None:
    assert "gates[0]" in refused(path, HEAD + GATE.replace('reason = "long enough a reason"', ""))
    assert "gates[0].reason" in refused(path, HEAD + GATE.replace("long enough a reason", ""))
    assert "plans.quick" in refused(path, (HEAD + GATE).replace('reason = "long enough a reason"', "", 1))


def test_a_file_without_gates_judges_nothing(path: Path) -> None:
    assert "gates" in refused(path, HEAD)
    assert "has no [[gates]]" in refused(path, HEAD.replace("schema = 1", "schema = 1\ngates = []"))


def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read: No such file.*--thresholds") as caught:
        load(path, REGISTRY)
    assert str(path) in str(caught.value)
    assert "is no TOML" in refused(path, "[gates")
    path.write_bytes(b'schema = "\xff"')
    with pytest.raises(ConfigError, match="is no TOML"):
        load(path, REGISTRY)


@pytest.mark.parametrize(
    "text", ["plans = 3", "plans = [1]", "plans.quick = 3", "gates = 3", "gates = [3]", "cases = []"]
)
def test_tables_of_another_shape_are_named(path: Path, text: str) -> None:
    assert text.split()[0].split(".")[0] in refused(path, f"schema = 1\n{text}\n")


@pytest.mark.parametrize("narrower", ['attribute = "race"', 'context = "base"', ""])
def test_two_limits_on_one_score_are_refused(path: Path, narrower: str) -> None:
    said = refused(path, HEAD + GATE + GATE + narrower + "\n")
    assert "gates[1]: is about a score that gates[0] has a limit on already" in said


def test_only_images_lack_faces(path: Path) -> None:
    gate = '[[gates]]\nscore = "no_face"\ntask = "objective"\nmax = 20\nreason = "A portrait was asked for."\n'
    assert "Only images lack faces" in refused(path, HEAD + gate)
    path.write_text(f'{HEAD}{gate}modality = "image"\n')
    assert load(path, REGISTRY).gates[0].score == "no_face"


def test_a_plan_says_how_many_images_and_else_draws_as_many_as_published(path: Path) -> None:
    path.write_text(HEAD + GATE)
    assert load(path, REGISTRY).plan("quick").size("fact-or-fair").images == fact_or_fair.Images()
    path.write_text(HEAD.replace("[plans.quick]\n", "[plans.quick]\nimages = { objective = 3 }\n") + GATE)
    size = load(path, REGISTRY).plan("quick").size("fact-or-fair")
    assert (size.images.objective, size.images.subjective) == (3, 20)


def test_each_benchmark_reads_its_own_keys_of_a_plan(path: Path) -> None:
    path.write_text(
        HEAD.replace("[plans.quick]\n", "[plans.quick]\nrepeats = 4\nidentity_prompts = { asked = 2 }\n") + GATE
    )
    plan = load(path, REGISTRY).plan("quick")
    assert plan.size("f2bench").repeats == 4
    assert plan.size("bigbench").identity_prompts.asked == 2
    assert plan.reason == "long enough a reason"


class Short(Declared):
    """A benchmark with a task of its own, and one more key of a plan."""

    def __init__(self, key: str, kind: type) -> None:
        super().__init__("short", "Short", 4, f2bench)
        self.tasks = (TaskSpec(name="recall", modality=Modality.TEXT, about="short answers", contexts=("old", "new")),)
        where = ((Modality.TEXT, "recall"),)
        self.scores = (Score(name="S_recall", title="recall", question="how much?", best=100, tasks=where),)
        self.plan = msgspec.defstruct("Plan", [(key, kind, 2)], frozen=True, kw_only=True)


def test_an_installed_benchmark_is_known_without_a_line_of_ours(path: Path) -> None:
    registry = Registry((*REGISTRY.plugins, Short("answers", int)))
    gate = GATE.replace("TV", "S_recall").replace("subjective", "recall")
    path.write_text(HEAD.replace("[plans.quick]\n", "[plans.quick]\nanswers = 9\n") + gate)
    found = load(path, registry)
    assert found.plan("quick").size("short").answers == 9
    assert found.gates[0].contexts == ("old", "new")
    gates = {f"short-text-recall-{each}-gender-S_recall" for each in ("old", "new")}
    assert names(found, registry, ("gender",)) == gates
    path.write_text(HEAD + gate + 'context = "odd"\n')
    with pytest.raises(ConfigError, match=r"gates\[0\]\.context: context = 'odd'.*Did you mean 'old'"):
        load(path, registry)


def test_two_benchmarks_cannot_read_one_key_of_a_plan_in_two_ways(path: Path) -> None:
    path.write_text(HEAD + GATE)
    with pytest.raises(PluginError, match="'repeats'"):
        load(path, Registry((*REGISTRY.plugins, Short("repeats", str))))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            'task = "dialog"\nscore = "S_dialogue"',
            'or, with modality = "image", objective, subjective, implicit or explicit.',
        ),
        ('task = "manifestation"\nmodality = "image"\nscore = "eta"', "is not compared with a baseline's"),
        ('task = "implicit"\nmodality = "image"\nscore = "S_KLD"', "score = 'S_KLD' is not compared with a baseline's"),
    ],
)
def test_only_what_is_compared_can_have_a_limit_on_its_drop(path: Path, given: str, said: str) -> None:
    reason = 'reason = "long enough a reason"'
    drop = f"[baseline]\nalpha = 0.05\n{reason}\n[[baseline.drops]]\n{given}\nmax_drop = 3\n{reason}\n"
    assert said in refused(path, HEAD + GATE + drop)


def test_a_task_of_the_other_modality_is_named(path: Path) -> None:
    assert "task = 'implicit' is no task of text" in refused(path, HEAD + GATE.replace("subjective", "implicit"))
