"""Structure: packages import from below alone, every module says what it is for, what is heavy is imported late."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.plugins import REGISTRY
from tests.running import CHECKOUT, arguments, environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# From the ground up, one package a floor: it imports from floors below alone. The longest name that fits counts.
FLOORS = (
    "fairgate",
    "fairgate.core",
    "fairgate.replies",
    "fairgate.ledger",
    "fairgate.options",
    "fairgate.benchmarks",
    "fairgate.gating",
    "fairgate.providers.http",
    "fairgate.providers",
    "fairgate.providers.python",
    "fairgate.providers.local",
    "fairgate.providers.chat",
    "fairgate.providers.images",
    "fairgate.providers.faces",
    "fairgate.sampling",
    "fairgate.reports",
    "fairgate.comparison",
    "fairgate.exporters",
    "fairgate.benchmarks.fact_or_fair",
    "fairgate.benchmarks.f2bench",
    "fairgate.benchmarks.bigbench",
    "fairgate.runs",
    "fairgate.enough_memory",
    "fairgate.case_cache",
    "fairgate.placement",
    "fairgate.launch",
    "fairgate.api",
    "fairgate.cli",
    "fairgate.controller",
    "fairgate.suite",
    "fairgate.plugin",
    "fairgate.__main__",
    "fixtures",
    "tests_bench",
)
BENCHMARKS = ("fairgate.benchmarks.fact_or_fair", "fairgate.benchmarks.f2bench", "fairgate.benchmarks.bigbench")
# numpy and scipy in, numbers out.
PURE = ("fairgate.core.statistics",)
NOT_IN_PURE = {
    "pytest",
    "httpx2",
    "aiohttp",
    "pyreqwest",
    "onnxruntime",
    "allure",
    "allure_commons",
    "sqlite3",
    "asyncio",
}


def source(module: str) -> Path:
    path = CHECKOUT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def modules() -> tuple[str, ...]:
    found = [path for room in ("fairgate", "fixtures", "tests_bench") for path in (CHECKOUT / room).rglob("*.py")]
    parts = [path.relative_to(CHECKOUT).with_suffix("").parts for path in found]
    return tuple(sorted(".".join(each[:-1] if each[-1] == "__init__" else each) for each in parts))


class Imports(ast.NodeVisitor):
    """What a module imports when it is used, and what it only names in annotations."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.named: set[str] = set()
        self._here = self.used

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self._here = self.named
            for each in node.body:
                self.visit(each)
            self._here = self.used
            node = ast.If(node.test, [], node.orelse)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self._here.update(alias.name for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, "imports are absolute"
        module = node.module or ""
        for alias in node.names:
            # `from fairgate.reports import terminal` is a module, `from fairgate.cli.main import main` a name of one.
            inner = f"{module}.{alias.name}"
            self._here.add(inner if module.partition(".")[0] in HERE and source(inner).is_file() else module)


HERE = ("fairgate", "fixtures", "tests_bench")


@cache
def imports(module: str) -> Imports:
    found = Imports()
    found.visit(ast.parse(source(module).read_text(encoding="utf-8")))
    return found


def ours(names: set[str]) -> set[str]:
    return {name for name in names if name.partition(".")[0] in HERE}


def stands_in(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def floor(module: str) -> int:
    longest = max((room for room in FLOORS if stands_in(module, room)), key=len)
    if longest == "fairgate" != module:
        pytest.fail(f"Say in FLOORS on which floor {module} stands.")
    return FLOORS.index(longest)


def test_there_is_something_to_read() -> None:
    assert {"fairgate.suite", "fairgate.core.statistics.estimates", "fixtures.cases"} <= set(modules())
    assert any(module.startswith("tests_bench.") for module in modules())


# The package names what it exports, and imports none of it (test_public_names.py).
@pytest.mark.parametrize("module", [each for each in modules() if each != "fairgate"])
def test_packages_import_from_floors_below_alone(module: str) -> None:
    """Annotations count as well: so no two packages know each other."""
    everything = ours(imports(module).used | imports(module).named)
    assert {name for name in everything if floor(name) > floor(module)} == set()


def test_imports_run_in_no_circle() -> None:
    """Annotations count as well."""
    graph = {module: ours(imports(module).used | imports(module).named) - {module} for module in modules()}
    assert set(TopologicalSorter(graph).static_order()) >= set(modules())


# Objects of pytest, Allure and other libraries, whose interface it is to be set from outside.
FOREIGN = {
    "fairgate.controller": {"reporter", "session"},
    "fairgate.placement": {"known"},
    "fairgate.providers.chat.litellm": {"library"},
    "fairgate.providers.faces.download": {"answer"},
    "fairgate.providers.faces.runtime": {"chosen"},
    "fairgate.providers.http.aiohttp_transport": {"protocol"},
    "fairgate.providers.http.httpx_bounds": {"client", "client.send", "made"},
    "fairgate.providers.http.socks_transport": {"request"},
    "fairgate.providers.http.traces": {"response"},
    "fairgate.providers.local.hf": {"self._tokenizer"},
    "fairgate.providers.python.batching": {"call"},
    "fairgate.reports.allure_gates": {"result", "result.statusDetails"},
    "fairgate.reports.thumbnails": {"pen"},
    "fairgate.suite": {"config.option", "report"},
    "fixtures.installed": {"test"},
}


@pytest.mark.parametrize("module", modules())
def test_no_attribute_is_set_from_outside(module: str) -> None:
    """What an object holds is changed by its own methods alone."""
    tree = ast.parse(source(module).read_text(encoding="utf-8"))
    set_here = {ast.unparse(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)}  # fmt: skip
    assert set_here - {"self"} == FOREIGN.get(module, set())


@pytest.mark.parametrize("module", ["fairgate.core.domain", "fairgate.core.errors"])
def test_the_shared_words_rest_on_nothing(module: str) -> None:
    both = imports(module).used | imports(module).named
    assert ours(both) <= {"fairgate.core.domain", "fairgate.core.errors"}
    assert {name.partition(".")[0] for name in both} <= {*sys.stdlib_module_names, "fairgate"}


@pytest.mark.parametrize(
    "module",
    [
        each
        for each in modules()
        if each.endswith((".scores", ".reference", ".counts")) or any(stands_in(each, room) for room in PURE)
    ],
)
def test_numbers_are_made_without_pytest_or_network(module: str) -> None:
    """Followed to the ground: neither they nor anything that they use."""
    seen, left = set[str](), {module}
    while left:
        here = left.pop()
        seen.add(here)
        used = imports(here).used
        assert not {name.partition(".")[0] for name in used} & NOT_IN_PURE, here
        left |= ours(used) - seen


@pytest.mark.parametrize("module", [each for each in modules() if stands_in(each, "fairgate.core.statistics")])
def test_the_maths_know_no_domain(module: str) -> None:
    assert all(
        stands_in(name, "fairgate.core.statistics") for name in ours(imports(module).used | imports(module).named)
    )


def test_models_and_maths_know_no_report() -> None:
    for module in modules():
        if any(stands_in(module, room) for room in ("fairgate.core.statistics", "fairgate.providers")):
            used = imports(module).used | imports(module).named
            assert not any(stands_in(name, "fairgate.reports") for name in used), module


def test_benchmarks_know_nothing_of_each_other() -> None:
    for module in modules():
        own = [room for room in BENCHMARKS if stands_in(module, room)]
        if own:
            others = {name for name in ours(imports(module).used) for room in BENCHMARKS if stands_in(name, room)}
            assert all(stands_in(name, own[0]) for name in others), module


def declared() -> frozenset[str]:
    """The names of all benchmarks, their packages, tasks, contexts and scores."""
    found = set[str]()
    for plugin in REGISTRY.plugins:
        found |= {plugin.name, plugin.title, plugin.name.replace("-", "_")}
        found |= {name for task in plugin.tasks for name in (task.name, *task.contexts)}
        found |= {score.name for score in plugin.scores}
    return frozenset(found)


def words(node: ast.AST) -> Iterator[str]:
    """The names that a piece of a module consists of: those of its code, and the words of its texts."""
    match node:
        case ast.Constant(value=str(text)):
            yield from re.findall(r"[\w²]+(?:-\w+)*", text)
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (part for each in names for part in each.name.split("."))
        case ast.ImportFrom(module=module, names=names):
            # The contract's module has the name of a context.
            yield from () if module == "fairgate.benchmarks.base" else (module or "").split(".")
            yield from (each.name for each in names)


def named(tree: ast.AST) -> set[str]:
    """The declared names, in lower case, that a module uses, also as a part of a longer name: `SUBJECTIVE_TASKS`."""
    known = {name.lower() for name in declared()}
    found = set[str]()
    for word in (each for node in ast.walk(tree) for each in words(node)):
        parts = {word.lower(), *word.lower().split("_")}
        found |= {part for part in parts & known if len(part) > 1 or word == part}
    return found


# Names of contexts, tasks and scores that are words of addresses, accounts, commands, patterns and statistics too.
ORDINARY = {"balance", "base", "contrast", "d", "explicit", "position", "preference", "pull"}
# Values that ledgers hold, by which what was asked before is found again.
HELD = {
    "fairgate.ledger.maintenance": {"attribution", "representativeness"},
    "fairgate.providers.faces.bulk": {"implicit"},
    "fairgate.replies.reasons": {"attribution", "ingroup", "representativeness"},
}
FORMULAS = "fairgate.core.statistics"
CORE = [
    module
    for module in modules()
    if not any(stands_in(module, room) for room in (*BENCHMARKS, FORMULAS, "tests_bench"))
    or module == "tests_bench.installed.test_installed"
]


@pytest.mark.parametrize("module", CORE)
def test_the_core_names_no_benchmark_task_or_score(module: str) -> None:
    found = named(ast.parse(source(module).read_text(encoding="utf-8")))
    assert found - ORDINARY == HELD.get(module, set())


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('"""Of Fact-or-Fair."""', "fact-or-fair"),
        ("from fairgate.benchmarks.f2bench.topics import Task", "f2bench"),
        ("Task.SUBJECTIVE", "subjective"),
        ("f'{score} of S_KLD'", "s_kld"),
        ("def of_dialogue(): ...", "dialogue"),
        ("draw(eta=3)", "eta"),
        ("d = 3", "d"),
    ],
)
def test_a_name_of_a_benchmark_is_found_wherever_it_stands(code: str, name: str) -> None:
    assert name in named(ast.parse(code))


def test_benchmarks_know_no_run() -> None:
    """What is asked, read and counted is told to them: options, models and the ledger's place are the run's."""
    for module in modules():
        if any(stands_in(module, room) for room in (*BENCHMARKS, "fairgate.benchmarks.base")):
            named = imports(module).used | imports(module).named
            assert not any(stands_in(name, "fairgate.runs") for name in named), module


def test_a_run_asks_no_benchmark_who_it_is() -> None:
    """The modules of a run that are about all of them ask the one whose topic it is, and never which one that is."""
    for name in ("participants", "sharding", "evidence", "run", "opening", "session", "sampling", "waiting"):
        tree = ast.parse(source(f"fairgate.runs.{name}").read_text(encoding="utf-8"))
        called = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert "isinstance" not in called, name


def test_only_the_benchmarks_tests_know_fixtures() -> None:
    for module in modules():
        if stands_in(module, "fairgate"):
            assert not any(stands_in(name, "fixtures") for name in imports(module).used | imports(module).named), module


def test_the_benchmarks_tests_hold_no_maths_and_no_http() -> None:
    for module in modules():
        if stands_in(module, "tests_bench") and not module.endswith(".conftest"):
            used = {name.partition(".")[0] for name in imports(module).used}
            assert not used & {"numpy", "scipy", "httpx2", "aiohttp", "fairgate"}, module


def test_one_module_knows_each_http_library_and_one_package_both() -> None:
    """httpx2 is the interface; what carries its requests is chosen in one place."""
    using = {name: {m for m in modules() if name in {each.partition(".")[0] for each in imports(m).used}} for name in
             ("aiohttp", "pyreqwest", "httpx2")}  # fmt: skip
    assert using["aiohttp"] == {"fairgate.providers.http.aiohttp_transport"}
    assert using["pyreqwest"] == {"fairgate.providers.http.fast"}
    assert all(stands_in(module, "fairgate.providers") for module in using["httpx2"])


def test_pytest_is_known_at_the_edge_alone() -> None:
    edge = {"fairgate.plugin", "fairgate.suite", "fairgate.controller", "fairgate.reports.pytest_reports"}
    using = {module for module in modules() if stands_in(module, "fairgate") and "pytest" in imports(module).used}
    assert using - {"fairgate.cli.main", "fairgate.launch", "fairgate.placement", "fairgate.__main__"} <= edge


@pytest.mark.parametrize("module", modules())
def test_every_module_says_what_it_is_for(module: str) -> None:
    docstring = ast.get_docstring(ast.parse(source(module).read_text(encoding="utf-8")))
    assert docstring
    assert len(docstring.splitlines()[0]) > 20


HEAVY = (
    "httpx2",
    "aiohttp",
    "pyreqwest",
    "matplotlib",
    "scipy",
    "onnxruntime",
    "insightface",
    "cv2",
    "PIL",
    "openpyxl",
    "pyarrow",
)
NAMED_BY_NOBODY = {*HEAVY, "scipy.stats"} - {"scipy"}


def test_the_plugin_loads_without_what_is_heavy() -> None:
    script = "import fairgate.suite, fixtures.cases, fixtures.shown, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=True
    )
    assert not set(HEAVY) & set(json.loads(done.stdout))


def test_an_offline_run_never_loads_what_it_does_not_use(tmp_path: Path) -> None:
    script = (
        "import pytest, json, sys; code = pytest.main(sys.argv[1:]); print(json.dumps([code, *sorted(sys.modules)]))"
    )
    plugins = ("-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:pyreqwest")
    given = arguments(tmp_path, "-q", *plugins, "-k", "crime and base")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script, *given],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    code, *loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stdout
    assert "scipy.special" in loaded
    assert not NAMED_BY_NOBODY & set(loaded)


def test_the_root_conftest_names_plugins_and_nothing_else() -> None:
    body = ast.parse((CHECKOUT / "conftest.py").read_text(encoding="utf-8")).body
    assert [type(each) for each in body] == [ast.Expr, ast.Assign]
