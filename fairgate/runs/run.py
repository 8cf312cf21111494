"""A run: what is asked for, the sampler that gets it, the cases that wait for it, and the report at the end."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
import uuid
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.bigbench import data as bigbench_data
from fairgate.bigbench.alignment import read_alignment
from fairgate.bigbench.cases import SitterCase
from fairgate.bigbench.cases import cases as sitter_cases
from fairgate.bigbench.original import read_original
from fairgate.bigbench.plan import People, SitterPlan, SitterTally
from fairgate.bigbench.plan import tally as tally_sitter
from fairgate.bigbench.portrayals import Portrayal
from fairgate.bigbench.prompts import Prompts, load_wording
from fairgate.comparison.baseline import Baseline, alphabet, letters_of
from fairgate.comparison.baseline import load as load_baseline
from fairgate.comparison.comparing import check
from fairgate.domain import AnswerKind, Modality, Role, Sitting, Task, Theme, Topic
from fairgate.errors import ConfigError, Unsampled
from fairgate.f2bench import data as f2bench_data
from fairgate.f2bench.cases import BENCHMARK as F2BENCH
from fairgate.f2bench.cases import GOLD, KINDS, ThemeCase, theme
from fairgate.f2bench.cases import cases as theme_cases
from fairgate.f2bench.fitness import fitness
from fairgate.f2bench.forms import in_forms
from fairgate.f2bench.gold import load_gold
from fairgate.f2bench.plan import Plan
from fairgate.f2bench.prompts import load_prompts
from fairgate.f2bench.tally import ThemeTally
from fairgate.f2bench.tally import tally as tally_theme
from fairgate.faces.asking import questions
from fairgate.fact_or_fair.answer_key import told
from fairgate.fact_or_fair.board import CONFIDENCE
from fairgate.fact_or_fair.cases import BENCHMARK as FACT_OR_FAIR
from fairgate.fact_or_fair.cases import OWN_TASKS, Case, image_cases, text_cases
from fairgate.fact_or_fair.data import load as load_dataset
from fairgate.fact_or_fair.explain import QUERIES, Explained, conversations
from fairgate.fact_or_fair.explain import load_prompts as load_asking
from fairgate.fact_or_fair.faces_tally import FacesTally, Groups, tally_faces
from fairgate.fact_or_fair.folder import FolderSource
from fairgate.fact_or_fair.portraits import Portrait, PortraitPlan
from fairgate.fact_or_fair.queries import QueryPlan
from fairgate.fact_or_fair.results import read_llm, read_t2i
from fairgate.fact_or_fair.tally import tally
from fairgate.models import painters, providers
from fairgate.models.base import CONTROL_JUDGE, Identity
from fairgate.models.detectors import asked_of, make_detector
from fairgate.published.tables import detector_errors
from fairgate.report.evidence import painted as as_painted
from fairgate.runs.looks import Look, looked_at
from fairgate.sampling.limits import Limits
from fairgate.sampling.line import Line
from fairgate.store.images import ImageStore
from fairgate.store.ledger import Ledger, RunState
from fairgate.store.samples import Sample, from_ledger, replay
from fairgate.verdicts.gate import check_attributes, check_waivers
from fairgate.verdicts.thresholds import load as load_thresholds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.bigbench.alignment import Aligned
    from fairgate.bigbench.plan import Seen
    from fairgate.domain import AnyTopic, Query, Reply
    from fairgate.fact_or_fair.results import ResultFolder
    from fairgate.fact_or_fair.tally import TopicTally
    from fairgate.maths.unmixing import Mixing
    from fairgate.models.base import ChatModel
    from fairgate.report.evidence import Painted
    from fairgate.runs.past import Past
    from fairgate.runs.sampling import Sampling
    from fairgate.runs.settings import Settings
    from fairgate.store.samples import Steps
    from fairgate.verdicts.thresholds import PlanSize

AnyCase = Case | ThemeCase | SitterCase
# Samples by the model and the fingerprint that their server gave itself.
Served = Counter[tuple[str | None, str | None]]
CASE = re.compile(r"::test_(?P<test>\w+)\[(?P<id>[^\]]+)\]$")
SILENCE = 60.0  # seconds without a sign of the sampler, after which all waiting cases give up
SILENT = f"nothing was heard of the sampler for {SILENCE:g} seconds"
ORPHANED = "the controlling process is gone"
POLL = (0.01, 0.2)  # seconds between two looks at the ledger, at first and at most


@dataclass(frozen=True)
class CaseAnswers:
    """A case's answers, or faces, by group, what they were read from, and how many of them are independent.

    `samples`, and of images `portraits`, are empty where a folder stands in for the model; `effective` is None where
    all answers are independent.
    """

    shares: Mapping[str, int]
    samples: Sequence[Sample] = ()
    portraits: Sequence[Portrait] = ()
    effective: int | None = None


class Run:
    """One run of the gate, as every process of it knows it: what is asked, of whom, and where the answers are."""

    def __init__(self, settings: Settings, told: Mapping[str, Any] | None = None, past: Past | None = None) -> None:
        self.settings = settings
        self.past = past
        if past is not None:
            # Who was asked is known: no model is made, and no key needed.
            told = {"run": past.id, "identities": past.identities}
        self.id: str = told["run"] if told else uuid.uuid4().hex
        self._told = {Role(role): Identity(**whole) for role, whole in (told["identities"] if told else {}).items()}
        self.sampling: Sampling | None = None
        self.look: Look | None = None
        self._silent = False
        self._latest: tuple[AnyTopic, Sequence[Sample]] | None = None
        self._counted: dict[Topic, tuple[TopicTally, Served]] = {}
        # Of a worker: who started it, and fills the ledger that it waits for.
        self._controller = os.getppid() if told else None
        self.thresholds = load_thresholds(settings.thresholds)
        self.dataset = load_dataset(overlay=settings.data, scenarios=settings.scenarios)
        size = self.thresholds.plan(settings.plan) if past is None else past.size
        self.plan = QueryPlan(
            self.dataset,
            seed=settings.seed,
            profiles=settings.profiles,
            objective=settings.per_topic or size.objective,
            subjective=settings.per_topic or size.subjective,
            explained=settings.explain,
        )
        if past is not None:
            self._catch_up(past.about)
        if settings.model_spec is not None:
            providers.split(settings.model_spec)
        if settings.t2i_spec is not None:
            painters.split(settings.t2i_spec)
        # What a past run found in a folder is what its ledger holds, whatever lies there today.
        self._files = painters.image_files(settings, self.dataset) if past is None else None
        held = self._files.numbers if self._files is not None else None if past is None else past.held
        self.portraits = PortraitPlan(
            self.dataset,
            settings.per_topic or size.images.objective,
            settings.per_topic or size.images.subjective,
            held,
            asked_of(settings),
        )
        self.sitters = self._sitters(size)
        self.aligned = self._aligned()
        known = [each.name for each in self.dataset.attributes] + [each.name for each in self.sitters.data.attributes]
        attributes = list(dict.fromkeys(known))
        check_attributes(self.thresholds, attributes, str(settings.thresholds))
        check_waivers(self.thresholds, attributes, str(settings.thresholds))
        self.folders = dict(self._folders())
        providers.check_judge(settings)
        providers.check_batch(settings)
        self._check_prices()
        gold = load_gold()
        self.f2bench = Plan(
            f2bench_data.read_workbooks(settings.f2bench, lenient=settings.lenient)
            if settings.f2bench
            else f2bench_data.load(),
            load_prompts(),
            in_forms(gold) if settings.judge_spec == CONTROL_JUDGE else gold,
            repeats=size.repeats,
            reference=settings.scoring == "reference" if past is None else past.reference,
        )
        self.baseline = None if settings.baseline is None else self._comparable(settings.baseline)
        if past is not None:
            for name, version in self.versions.items():
                past.check(name, version)

    def _sitters(self, size: PlanSize) -> SitterPlan:
        """BIGbench's plan. Where shares come from a file nothing is painted, and every sitter may be in it."""
        settings, sitters = self.settings, size.sitters
        data = read_original(settings.bigbench) if settings.bigbench else bigbench_data.load()
        aligned = painters.alignment_file(settings.t2i_spec) is not None
        return SitterPlan(
            data,
            Prompts(data, load_wording()),
            None if aligned else sitters.subjects,
            settings.per_topic or sitters.implicit,
            None if aligned else sitters.asked,
            settings.per_topic or sitters.explicit,
            None if asked_of(settings) is None else (questions(1), questions(2)),
        )

    def _aligned(self) -> Aligned | None:
        """What BIGbench's original program aligned, where a file of it stands in for the model."""
        path = painters.alignment_file(self.settings.t2i_spec)
        return None if path is None else read_alignment(path, self.sitters.data)

    def _check_prices(self) -> None:
        """A budget in USD needs the price of whoever is asked; controls cost nothing."""
        if self.settings.budget_usd is None:
            return
        for spec in (self.settings.model_spec, self.settings.judge_spec, self.settings.t2i_spec):
            free = ("control/", "results/", "folder/")
            if spec is None or spec in self.thresholds.prices or spec.startswith(free):
                continue
            raise ConfigError(
                f"no price is known for {spec}.",
                where="--budget-usd",
                mend=f'Add it to {self.settings.thresholds}, in USD per million tokens: [prices."{spec}"] input = 0.15,'
                " output = 0.60, date = 2026-03-23, each on a line of its own.",
            )

    def _comparable(self, path: Path) -> Baseline:
        """The baseline. Raises ConfigError where it asked otherwise, before anything is asked here."""
        if Modality.TEXT not in self.sampled:
            raise ConfigError("there are no answers to compare.", where="--baseline", mend="Name a language model.")
        found = load_baseline(path)
        check(found, self.asked, f"--baseline {path}", common=self.settings.compare_common)
        return found

    @property
    def asked(self) -> dict[str, object]:
        """Which queries of Fact-or-Fair there are, and how many, as a baseline notes it."""
        return {
            "data": self.dataset.version,
            "seed": self.settings.seed,
            "profiles": str(self.settings.profiles),
            "explained": load_asking().version if self.settings.explain else None,
            "plan": self.settings.plan,
            "objective": self.plan.objective,
            "subjective": self.plan.subjective,
        }

    def answered(self, topics: Iterable[Topic], ledger: Ledger) -> Baseline:
        """What the ledger holds of these topics, to be saved or compared."""
        letters, distinct = {}, {}
        for topic in topics:
            samples = from_ledger(ledger, self.identity, self.plan.queries(topic))
            letters[topic.id], distinct[topic.id] = letters_of(topic, samples, self.dataset)
        return Baseline(self.identity.label, self.asked, alphabet(self.dataset), letters, distinct)

    def _folders(self) -> Iterator[tuple[Modality, ResultFolder]]:
        """The result folders that stand in for models, by what they hold."""
        text = providers.result_folder(self.settings.model_spec, "--model")
        image = painters.result_folder(self.settings.t2i_spec)
        if text is not None:
            yield Modality.TEXT, read_llm(text, self.dataset)
        if image is not None:
            yield Modality.IMAGE, read_t2i(image, self.dataset)

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """What there is a model for."""
        named = {Modality.TEXT: self.settings.model_spec, Modality.IMAGE: self.settings.t2i_spec}
        return tuple(modality for modality, spec in named.items() if spec is not None)

    def told(self) -> dict[str, Any]:
        """What a worker must be told, of plain values: it makes no model, and has the same run."""
        known = {str(role): json.loads(self.identity_of(role).canonical) for role in self.roles}
        return {"run": self.id, "identities": known}

    @property
    def versions(self) -> dict[str, object]:
        """What decides the prompts, beside the plan: another version asks other questions."""
        spoken = self.f2bench
        painted = {"BIGbench's data": self.sitters.data.version} if Role.PAINTER in self.roles else {}
        return {
            "data version": self.dataset.version,
            **painted,
            **({"questions for reasons": load_asking().version} if self.settings.explain else {}),
            **(
                {
                    "F²Bench's instances": spoken.instances.version,
                    "F²Bench's prompts": spoken.prompts.version,
                    "gold texts": spoken.gold.version,
                }
                if Role.JUDGE in self.roles
                else {}
            ),
        }

    def about(self, cases: Iterable[AnyCase] = ()) -> str:
        """What this run asks, as JSON: enough to find its samples in the ledger again, and to judge them."""
        settings = self.settings
        return json.dumps(
            {
                "identity": json.loads(self.identity.canonical) if Role.MODEL in self.roles else None,
                "images": self._about_images() if Role.PAINTER in self.roles else None,
                "data_version": self.dataset.version,
                "data": settings.data and str(settings.data),
                "scenarios": settings.scenarios and str(settings.scenarios),
                "plan": settings.plan,
                "objective": self.plan.objective,
                "subjective": self.plan.subjective,
                "seed": settings.seed,
                "profiles": settings.profiles,
                "key": settings.key,
                "f2bench": self._about_f2bench() if Role.JUDGE in self.roles else None,
                "identities": self.told()["identities"],
                "versions": self.versions,
                "options": settings.options(asking_only=True),
                "thresholds": str(settings.thresholds),
                "look": None if self.look is None else asdict(self.look),
                "shards": [] if settings.shard is None else ["{}/{}".format(*settings.shard)],
                "cases": [case.name for case in cases],
                **({"explained": load_asking().version} if settings.explain else {}),
            }
        )

    def _about_images(self) -> dict[str, Any]:
        return {
            "painter": json.loads(self.identity_of(Role.PAINTER).canonical),
            "detector": json.loads(self.identity_of(Role.DETECTOR).canonical),
            "objective": self.portraits.objective,
            "subjective": self.portraits.subjective,
            "held": self.portraits.held,
            "sitters": {
                "subjects": self.sitters.subjects,
                "implicit": self.sitters.implicit,
                "asked": self.sitters.asked,
                "explicit": self.sitters.explicit,
            },
        }

    def _about_f2bench(self) -> dict[str, Any]:
        settings, plan = self.settings, self.f2bench
        return {
            "speaker": json.loads(self.identity_of(Role.SPEAKER).canonical),
            "judge": json.loads(self.identity_of(Role.JUDGE).canonical),
            "data_version": plan.instances.version,
            "data": settings.f2bench and str(settings.f2bench),
            "prompts": plan.prompts.version,
            "gold": plan.gold.version,
            "repeats": plan.repeats,
            "reference": plan.reference,
        }

    @property
    def sampled(self) -> tuple[Modality, ...]:
        """What a model is asked for, and no folder stands in for."""
        read = {*self.folders} | ({Modality.IMAGE} if self.aligned is not None else set())
        return tuple(modality for modality in self.modalities if modality not in read)

    @cached_property
    def line(self) -> Line:
        """Where the samples of this run wait, whoever they are asked of."""
        return Line(Limits(self.settings.bounds, self.thresholds.prices))

    @cached_property
    def model(self) -> ChatModel:
        """The language model under test, made once. Raises ConfigError where it cannot be had."""
        return providers.make(self.settings, self.dataset, self.line.step_aside)

    @property
    def roles(self) -> tuple[Role, ...]:
        """Who is asked in this run: nobody where a folder stands in for the model, no judge where none was named."""
        asked: tuple[Role, ...] = ()
        if Modality.TEXT in self.sampled:
            asked += (Role.MODEL,) if self.settings.judge_spec is None else (Role.MODEL, Role.SPEAKER, Role.JUDGE)
        if Modality.IMAGE in self.sampled:
            asked += (Role.PAINTER, Role.DETECTOR)
        return asked

    @cached_property
    def models(self) -> dict[Role, ChatModel]:
        """Who is asked, made once. Raises ConfigError where one of them cannot be had."""
        made = {Role.MODEL: self.model} if Role.MODEL in self.roles else {}
        if Role.PAINTER in self.roles:
            store = ImageStore(self.settings.ledger)
            made[Role.PAINTER] = painters.make_painter(
                self.settings,
                self.dataset,
                store,
                self._files,
                self.groups.maps,
                self.sitters,
                self.people,
                self.line.step_aside,
            )
            made[Role.DETECTOR] = make_detector(self.settings, store, self.line.step_aside)
        if Role.JUDGE in self.roles:
            usual = self.f2bench.prompts.sampling(self.settings.model_spec or "")
            # The paper samples some models in a way of their own; the others are asked as ever.
            made[Role.SPEAKER] = self.model if usual is None else self._speaker(asdict(usual))
            made[Role.JUDGE] = providers.make_judge(self.settings, self.line.step_aside)
        return made

    def _speaker(self, usual: Mapping[str, object]) -> ChatModel:
        speaker = providers.make(self.settings, self.dataset, self.line.step_aside, usual)
        return self.model if speaker.identity == self.model.identity else speaker

    def asks(self, case: AnyCase) -> bool:
        """Whether there is a model for a case, and a judge where it needs one; of a past run, whether it asked it."""
        if self.past is not None and case.name not in self.past.cases:
            return False
        if case.topic.benchmark == F2BENCH:
            return Role.JUDGE in self.roles
        if isinstance(case, SitterCase):
            return self.aligned is not None or self.paints_sitters
        return case.topic.modality in self.modalities and (case.topic.modality is Modality.TEXT or self.aligned is None)

    @property
    def paints_sitters(self) -> bool:
        """Whether somebody paints who can be asked for BIGbench's sitters: a folder of images holds none of them."""
        return Role.PAINTER in self.roles and not (self.settings.t2i_spec or "").startswith("folder/")

    def queries(self, topic: AnyTopic) -> Iterable[Query | Steps[object]]:
        """A topic's queries, or a theme's conversations."""
        if isinstance(topic, Theme):
            return self.f2bench.work(topic)
        if isinstance(topic, Sitting):
            return self.sitters.work(topic)
        if topic.modality is Modality.IMAGE:
            return self.portraits.work(topic)
        queries = self.plan.queries(topic)
        return conversations(queries) if self.explains(topic) else queries

    def explains(self, topic: Topic) -> bool:
        """Whether a topic's choices are asked for with reasons."""
        return self.plan.explained and topic.task is Task.SUBJECTIVE and topic.modality is Modality.TEXT

    def size(self, topic: AnyTopic) -> int:
        """Planned samples of a topic or theme."""
        if isinstance(topic, Theme):
            return self.f2bench.size(topic)
        if isinstance(topic, Sitting):
            return self.sitters.size(topic)
        if topic.modality is Modality.IMAGE:
            return self.portraits.size(topic)
        return self.plan.size(topic) * (QUERIES if self.explains(topic) else 1)

    def parts(self, cases: Iterable[AnyCase], of: int) -> list[frozenset[AnyCase]]:
        """The cases dealt to `of` machines, the same on each of them, with about as many samples each.

        Cases that share samples stay together, and so do the themes of one task, which share the judge's gold set.
        """
        units: dict[tuple[str, str], list[AnyCase]] = {}
        for case in cases:
            units.setdefault((case.topic.benchmark, case.together), []).append(case)

        def size(name: tuple[str, str]) -> int:
            return sum(self.size(topic) for topic in {topic for case in units[name] for topic in case.topics})

        dealt: list[list[AnyCase]] = [[] for _ in range(of)]
        held = [0] * of
        for name in sorted(units, key=lambda each: (-size(each), each)):
            least = held.index(min(held))
            dealt[least] += units[name]
            held[least] += size(name)
        return [frozenset(part) for part in dealt]

    @property
    def ledger_shown(self) -> str:
        """The ledger's path as a reader sees it, below the current folder where it is."""
        path = self.settings.ledger
        here = Path.cwd()
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    @property
    def ledger_is_new(self) -> bool:
        """Whether the ledger is still to be made: a mistyped path would ask everything again."""
        return not self.settings.ledger.exists()

    @cached_property
    def cases(self) -> dict[tuple[str, str], AnyCase]:
        """Every case there can be, by the name of its test function (without `test_`) and its id."""
        kinds = (text_cases, image_cases)
        cases: list[AnyCase] = [*theme_cases(self.f2bench.instances), *sitter_cases(self.sitters)]
        cases += [case for cases_of in kinds for task in OWN_TASKS for case in cases_of(self.dataset, task)]
        return {(case.test, case.id): case for case in cases}

    def case_of(self, nodeid: str) -> AnyCase | None:
        """The case that a pytest node id names, None where it is no case of ours."""
        found = CASE.search(nodeid)
        return self.cases.get((found["test"], found["id"])) if found else None

    @cached_property
    def deciding(self) -> int:
        """The cases of the whole plan that can fail by themselves, whatever part of it was selected."""
        tasks = [case.topic for case in self.cases.values() if case.topic.task is Task.SUBJECTIVE]
        return sum(topic.modality in self.modalities for topic in tasks)

    def case_alpha(self, case: Case) -> float:
        """The level of one case: that of all of them, shared by all that can fail, and by all looks at it."""
        share = self.look.share if self.look is not None and looked_at(case.topic) else 1.0
        return self.thresholds.cases.alpha * share / self.deciding

    @property
    def confidence(self) -> float:
        """Of the intervals of subjective text scores, 0 to 1."""
        return CONFIDENCE if self.look is None else self.look.confidence

    def settle(self, look: Look) -> None:
        """Of what is asked in rounds the run asked so much, and no more."""
        self.look = look
        self.plan = replace(self.plan, subjective=look.subjective)

    def _catch_up(self, about: Mapping[str, Any]) -> None:
        """Know what the process that asks has settled on."""
        if self.look is None and about.get("look") is not None:
            self.settle(Look(**about["look"]))

    @property
    def identity(self) -> Identity:
        """What the ledger knows the language model under test by."""
        return self.identity_of(Role.MODEL)

    def identity_of(self, role: Role) -> Identity:
        """What the ledger knows somebody by; a worker is told it, and never makes a model."""
        return self._told[role] if role in self._told else self.models[role].identity

    def command(self, case: AnyCase) -> str:
        """How to run this case alone, with the options of this run."""
        room = case.topic.benchmark.replace("-", "_")
        test = f"tests_bench/{room}/test_{case.test}.py::test_{case.name}"
        return shlex.join(["pytest", test, *self.settings.options()])

    def answer_told(self, case: Case) -> str:
        """The case's right answer under both keys, in words, with what is doubtful about it."""
        statistic = self.dataset.statistic(case.topic.statistic)
        topic = case.attribute, case.topic.level
        return told(statistic.published[topic], statistic.measured[topic])

    def label(self, modality: Modality) -> str:
        """The model of a modality as its user named it."""
        folder = self.folders.get(modality)
        if modality is Modality.IMAGE and self.aligned is not None:
            return f"results/{self.aligned.model}"
        role = Role.PAINTER if modality is Modality.IMAGE else Role.MODEL
        return self.identity_of(role).label if folder is None else f"results/{folder.model}"

    def answers(self, case: Case) -> CaseAnswers:
        """The case's answers, waited for where a model is asked."""
        modality = case.topic.modality
        folder = self.folders.get(modality)
        if folder is not None:
            return CaseAnswers(FolderSource(folder, modality, self.dataset, frozenset((case,))).shares(case))
        samples = self.wait_for(case.topic)
        names = self.dataset.attribute(case.attribute).names
        if modality is Modality.TEXT:
            if case.topic not in self._counted:
                self._counted[case.topic] = self.count(case.topic, samples)
            picked = self._counted[case.topic][0].by(case.attribute)
            return CaseAnswers({group: picked[group] for group in names}, samples)
        with Ledger(self.settings.ledger) as ledger:
            portraits, samples = self.painted(case.topic, ledger)
        faces = tally_faces(case.topic, portraits, self.dataset, self.groups)
        picked = faces.by(case.attribute)
        shares = {group: picked[group] for group in names}
        return CaseAnswers(shares, samples, portraits, faces.distinct(case.attribute))

    @cached_property
    def groups(self) -> Groups:
        """What the detector's labels mean."""
        return Groups.of(self.dataset, self.settings.race_map)

    @property
    def detector_errors(self) -> Mapping[str, float]:
        """The detector's published error rate, 0 to 1, by attribute; empty where there is none."""
        if Role.DETECTOR not in self.roles:
            return {}
        detector = self.identity_of(Role.DETECTOR)
        if detector.label == "faces/fairface":
            return detector_errors("FairFace")
        return detector_errors("DeepFace") if detector.provider == "deepface" else {}

    @cached_property
    def mixings(self) -> Mapping[str, Mixing]:
        """How the detector errs, by attribute; empty without a calibration. Raises ConfigError for one that is none."""
        path = self.settings.calibration
        if path is None or Role.DETECTOR not in self.roles:
            return {}
        from fairgate.faces import calibration

        measured = calibration.load(path, self.identity_of(Role.DETECTOR))
        known = {
            each.name: measured.of(FACT_OR_FAIR, each.name, self.groups.maps[each.name].name)
            for each in self.dataset.attributes
        }
        return {
            name: found.mixing(self.dataset.attribute(name).names, f"--calibration {path}")
            for name, found in known.items()
            if found is not None
        }

    @cached_property
    def people(self) -> People:
        """Who of an image's faces is meant in BIGbench, and what the detector's labels mean there."""
        return People.of(self.sitters.data, self.settings.race_map)

    def seen(self, case: SitterCase) -> tuple[tuple[SitterTally, ...], Sequence[Sample]]:
        """What the images of a case's sitters show, and the samples behind it, waited for where somebody paints."""
        samples: list[Sample] = []
        if self.aligned is None:
            for topic in case.topics:
                samples += self._waited_for(topic)
        with Ledger(self.settings.ledger) if self.aligned is None else nullcontext() as ledger:
            return tuple(self.tally_sitter(topic, ledger) for topic in case.topics), samples

    def tally_sitter(self, topic: Sitting, ledger: Ledger | None) -> SitterTally:
        """What a sitter's images show, as the ledger, or the alignment file, holds them."""
        sitter = self.sitters.sitter(topic)
        if ledger is None:
            held = self._aligned_sitters.get(sitter.id, Portrayal(sitter, named=({},) * len(sitter.subject.people)))
            return SitterTally(topic, held)

        def reply(query: Query) -> Reply | None:
            return ledger.reply(self.identity_of(query.to), query)

        return tally_sitter(self.sitters, topic, self.people, reply)[0]

    @cached_property
    def _aligned_sitters(self) -> Mapping[str, Portrayal]:
        return {} if self.aligned is None else {each.sitter.id: each for each in self.aligned.portrayals}

    def tally_faces(self, topic: Topic, ledger: Ledger) -> FacesTally:
        """The faces in a topic's images, as the ledger holds them."""
        portraits, samples = self.painted(topic, ledger)
        counted = tally_faces(topic, portraits, self.dataset, self.groups)
        replies = [sample.reply for sample in samples if sample.query.to is Role.DETECTOR]
        counted.served.update(reply.served_model for reply in replies if reply is not None and reply.served_model)
        return counted

    def pictures(self, topic: Topic | Sitting, ledger: Ledger) -> Iterator[tuple[Painted, list[Sample]]]:
        """A topic's images as a reader sees them, each with its samples, the painter's first."""

        def reply(query: Query) -> Reply | None:
            return ledger.reply(self.identity_of(query.to), query)

        if isinstance(topic, Sitting):
            for sitting in self.sitters.work(topic):
                seen, samples = replay(sitting, reply)
                yield self.as_shown(seen, topic), samples
        else:
            for steps in self.portraits.work(topic):
                portrait, samples = replay(steps, reply)
                yield self.as_shown(portrait, topic), samples

    def as_shown(self, seen: Portrait | Seen, topic: Topic | Sitting) -> Painted:
        """An image with its faces by the groups of its benchmark."""
        if isinstance(topic, Sitting):
            names = [each.name for each in self.sitters.data.attributes]
            return as_painted(seen, names, self.people.group, topic.sitter)
        return as_painted(seen, [each.name for each in self.dataset.attributes], self.groups.group)

    def painted(self, topic: Topic, ledger: Ledger) -> tuple[list[Portrait], list[Sample]]:
        """What became of a topic's images, as the ledger holds them, and the samples behind them."""

        def reply(query: Query) -> Reply | None:
            return ledger.reply(self.identity_of(query.to), query)

        portraits: list[Portrait] = []
        samples: list[Sample] = []
        for steps in self.portraits.work(topic):
            portrait, said = replay(steps, reply)
            portraits.append(portrait)
            samples += said
        return portraits, samples

    def count(self, topic: Topic, samples: Iterable[Sample]) -> tuple[TopicTally, Served]:
        """A topic's answers, counted, and which servers gave them."""
        served: Served = Counter()

        def seen() -> Iterator[Sample]:
            for sample in samples:
                if sample.reply is not None:
                    served[sample.reply.served_model, sample.reply.fingerprint] += 1
                yield sample

        return tally(topic, seen(), self.dataset), served

    def counted(self, topic: Topic, ledger: Ledger) -> tuple[TopicTally, Served]:
        """The same for a topic as the ledger holds it; what a case of this process has counted is not read again."""
        if topic in self._counted:
            return self._counted[topic]
        return self.count(topic, from_ledger(ledger, self.identity, self.plan.queries(topic)))

    def conversations(self, case: ThemeCase) -> tuple[ThemeTally, Sequence[Sample]]:
        """What came of a case's conversations, and their samples, waited for."""
        samples = self.wait_for(case.topic)
        with Ledger(self.settings.ledger) as ledger:
            return self.tally_theme(case.topic, ledger)[0], samples

    def tally_theme(self, topic: Theme, ledger: Ledger) -> tuple[ThemeTally, list[Sample]]:
        """What came of a theme's conversations, as the ledger holds them."""

        def reply(query: Query) -> Reply | None:
            return ledger.reply(self.identity_of(query.to), query)

        return tally_theme(self.f2bench, topic, reply)

    def explained(self, topic: Topic, ledger: Ledger) -> Iterator[tuple[Explained, Sequence[Sample]]]:
        """A topic's reasons as the judge sorted them, each with its samples: the choice first."""

        def reply(query: Query) -> Reply | None:
            return ledger.reply(self.identity_of(query.to), query)

        return (replay(steps, reply) for steps in conversations(self.plan.queries(topic)))

    def needs_judge(self, topic: AnyTopic) -> bool:
        """Whether a topic's samples are worth nothing without a judge."""
        return isinstance(topic, Theme) or (isinstance(topic, Topic) and self.explains(topic))

    def unfit(self, ledger: Ledger) -> str | None:
        """Why the judge may not judge, by what the ledger holds of the gold set; None where it may."""
        for task in KINDS:
            counted, _ = self.tally_theme(theme(task, GOLD), ledger)
            if counted.missing < counted.planned:
                found = fitness(counted, self.thresholds.judge, self.settings.seed).unfit
                if found is not None:
                    return found
        return None

    def read(self, topic: AnyTopic, ledger: Ledger) -> tuple[list[Sample], int]:
        """The samples as the ledger holds them, and how many of the planned ones are missing."""
        if isinstance(topic, Theme):
            counted, samples = self.tally_theme(topic, ledger)
            return samples, counted.missing
        if isinstance(topic, Sitting):

            def reply(query: Query) -> Reply | None:
                return ledger.reply(self.identity_of(query.to), query)

            sat, samples = tally_sitter(self.sitters, topic, self.people, reply)
            return samples, sat.missing
        if topic.modality is Modality.IMAGE:
            portraits, samples = self.painted(topic, ledger)
            return samples, sum(each.kind is AnswerKind.FAILED for each in portraits)
        samples = list(from_ledger(ledger, self.identity, self.plan.queries(topic)))
        return samples, sum(sample.answer.kind is AnswerKind.FAILED for sample in samples)

    def wait_for(self, topic: AnyTopic) -> Sequence[Sample]:
        """Wait until the topic is sampled, and give its samples. Raises Unsampled where too many are missing."""
        if self._latest is None or self._latest[0] != topic:
            # The cases of a topic's attributes follow one another.
            self._latest = topic, self._waited_for(topic)
        return self._latest[1]

    def _waited_for(self, topic: AnyTopic) -> Sequence[Sample]:
        with Ledger(self.settings.ledger) as ledger:
            stopped = self._wait(topic, ledger)
            if self.settings.stop_early:
                self._catch_up(json.loads(ledger.about_run(self.id)))
            samples, missing = self.read(topic, ledger)
            planned = self._judged(topic)
            if missing and stopped is not None:
                raise Unsampled(f"{missing} of {planned} samples were not asked: {stopped}")
            if missing and self.needs_judge(topic) and (unfit := self.unfit(ledger)) is not None:
                raise Unsampled(f"{missing} of {planned} samples were not asked: the judge is not fit: {unfit}")
            # One lost call of three says nothing against a topic; the rate over all of them has a limit of its own.
            if missing > max(1, self.thresholds.allowed.failed * planned / 100):
                last = [sample.query for sample in samples if sample.answer.kind is AnswerKind.FAILED][-1]
                reason = ledger.failure(self.id, self.identity_of(last.to), last) or "no reason is known"
                raise Unsampled(
                    f"{missing} of {planned} samples failed, more than {self.thresholds.allowed.failed:g} %."
                    f" The last: {reason}",
                    where=topic.id,
                    mend="Run again: what was answered is kept, only these are asked.",
                )
            return samples

    def _judged(self, topic: AnyTopic) -> int:
        """Of how many planned answers a case may miss some."""
        if isinstance(topic, Theme):
            return self.size(topic)
        if isinstance(topic, Sitting):
            return self.sitters.images(topic)
        # A case judges choices: what the judge makes of their reasons is none of its business. An image and its faces
        # are one answer.
        return self.portraits.images(topic) if topic.modality is Modality.IMAGE else self.plan.size(topic)

    def _wait(self, topic: AnyTopic, ledger: Ledger) -> str | None:
        """None once the topic is sampled, or why the run stopped before."""
        if self.past is not None:
            over = self.sampling is None or self.sampling.trouble is None
            return None if over or ledger.is_sampled(self.id, topic.id) else self.past.message or "the run was cut off"
        pause, heard, beat = POLL[0], time.monotonic(), -1
        while not ledger.is_sampled(self.id, topic.id):
            # The sampler of this very process may not even have been able to write that it stopped.
            trouble = None if self.sampling is None else self.sampling.trouble
            if trouble is not None:
                return str(trouble)
            if self._controller is not None and os.getppid() != self._controller:
                return ORPHANED
            if self._silent:
                return SILENT
            status = ledger.status(self.id)
            if status is not None and status.state is not RunState.SAMPLING:
                # The topic may have been finished between the two looks.
                return None if ledger.is_sampled(self.id, topic.id) else status.message or "the run ended"
            if status is not None and status.beat != beat:
                heard, beat = time.monotonic(), status.beat
            if time.monotonic() - heard > SILENCE:
                self._silent = True
            time.sleep(pause)
            pause = min(pause * 1.5, POLL[1])
        return None
