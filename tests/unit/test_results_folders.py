"""Result folders of the original program: what was written comes back, and what cannot be read is named."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS
from fairgate.benchmarks.fact_or_fair.data import Dataset, load
from fairgate.benchmarks.fact_or_fair.results import ResultCounts, ResultFolder, read_llm, read_t2i
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.core.domain import Modality
from fairgate.core.errors import DataError
from tests import original_layouts as original

DATASET = load()
SLUGS = [statistic.slug for statistic in DATASET.statistics]
LEVELS = list(Level)


@pytest.fixture
def dataset() -> Dataset:
    return DATASET


def counts_of(folder: ResultFolder, task: Task, context: Context | None, attribute: str) -> ResultCounts:
    found = folder.of(task, context, attribute)
    assert found is not None
    return found


def topic_of(slug: str, level: str) -> tuple[int, int]:
    return SLUGS.index(slug), LEVELS.index(Level(level))


def llm_folder(root: Path, seed: int = 0, **names: str) -> original.LLMResults:
    chance = original.seeded(seed)
    drawn = original.draw_llm(DATASET, chance)
    original.write_llm(root, DATASET, drawn, chance, **names)
    return drawn


def t2i_folder(root: Path, seed: int = 0, **how: object) -> dict[tuple[str, original.Topic], dict[str, int]]:
    drawn = original.draw_t2i(DATASET, original.seeded(seed))
    original.write_t2i(root, DATASET, drawn, **how)  # type: ignore[arg-type]
    return drawn


class TestLanguageModels:
    @settings(max_examples=15, deadline=None)
    @given(seed=st.integers(0, 2**32))
    def test_random_answers_come_back(self, seed: int) -> None:
        with tempfile.TemporaryDirectory() as name:
            drawn = llm_folder(Path(name), seed)
            folder = read_llm(Path(name), DATASET)

        assert folder.model == "m-1"
        for attribute, groups in original.groups_of(DATASET).items():
            objective = counts_of(folder, Task.OBJECTIVE, None, attribute)
            assert objective.modality is Modality.TEXT
            assert objective.statistics == tuple(SLUGS)
            assert objective.groups == groups
            for topic in original.topics_of(DATASET):
                place = topic_of(*topic)
                answers = drawn.objective.get((attribute, topic), {})
                assert objective.chosen[place].tolist() == [answers.get(group, 0) for group in groups]
                assert objective.refused[place] == drawn.refused.get((attribute, topic), 0)
                assert objective.present[place] == ((attribute, topic) in drawn.objective)
                for context in Context:
                    self.assert_picks(folder, drawn, context, attribute, topic)

    @staticmethod
    def assert_picks(
        folder: ResultFolder, drawn: original.LLMResults, context: Context, attribute: str, topic: original.Topic
    ) -> None:
        found = counts_of(folder, Task.SUBJECTIVE, context, attribute)
        place = topic_of(*topic)
        picks = drawn.subjective.get((str(context), attribute, topic), original.Picks({}, {}, {}))
        assert found.chosen[place].tolist() == [picks.selected.get(group, 0) for group in found.groups]
        assert found.shown[place].tolist() == [picks.shown.get(group, 0) for group in found.groups]
        assert found.named_picks[place] == sum(picks.named.values())
        assert found.present[place] == bool(picks.selected)
        assert found.answered[place] == sum(picks.selected.values())
        label = f"subjective {context} {topic[0]} {attribute} {topic[1]}"
        assert (label in folder.missing) == (not picks.selected)

    def test_a_missing_statistic_is_listed_and_one_without_the_attribute_is_not(
        self, tmp_path: Path, dataset: Dataset
    ) -> None:
        chance = original.seeded(1)
        drawn = original.draw_llm(dataset, chance, absent=0)
        original.write_llm(tmp_path, dataset, drawn, chance)
        assert read_llm(tmp_path, dataset).missing == ()

        (tmp_path / "objective_test/results/250131/m-1/crime-rate_m-1.json").unlink()
        (tmp_path / "subjective_test/results/250131/baseline/low/m-1/race/covid-19-mortality-rate.csv").unlink()
        folder = read_llm(tmp_path, dataset)
        assert folder.missing == (
            "objective crime-rate",
            "subjective base covid-19-mortality-rate race low",
        )
        race = counts_of(folder, Task.OBJECTIVE, None, "race")
        assert not race.present[SLUGS.index("crime-rate")].any()
        assert np.isnan(race.shares[SLUGS.index("crime-rate")]).all()

    def test_an_absent_context_is_one_line(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path)
        shutil.rmtree(tmp_path / "subjective_test/results/250131/group_bias")
        folder = read_llm(tmp_path, dataset)
        assert [line for line in folder.missing if "ingroup" in line] == ["subjective ingroup"]
        assert folder.of(Task.SUBJECTIVE, Context.INGROUP, "race") is None

    def test_one_task_alone_is_enough(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path)
        shutil.rmtree(tmp_path / "objective_test")
        folder = read_llm(tmp_path, dataset)
        assert {counts.task for counts in folder.counts} == {Task.SUBJECTIVE}

    def test_the_programs_own_folder_and_one_tasks_folder_do_too(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path / "large_language_model")
        assert len(read_llm(tmp_path, dataset).counts) == 10
        assert len(read_llm(tmp_path / "large_language_model" / "objective_test", dataset).counts) == 2

    def test_the_newest_date_wins_and_is_named(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path, seed=1, date="241231")
        newest = llm_folder(tmp_path, seed=2, date="250101")
        folder = read_llm(tmp_path, dataset)
        race = counts_of(folder, Task.SUBJECTIVE, Context.BASE, "race")
        total = sum(
            sum(p.selected.values()) for (c, a, _), p in newest.subjective.items() if (c, a) == ("base", "race")
        )
        assert race.answered.sum() == total
        assert folder.notes == (
            "objective: the newest results are read, of 250101; those of 241231 are not.",
            "subjective: the newest results are read, of 250101; those of 241231 are not.",
        )

    def test_of_several_models_one_is_named_by_the_path(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path, seed=1, model="m-1")
        llm_folder(tmp_path, seed=2, model="m-2")
        with pytest.raises(DataError, match=r"several models: m-1, m-2\. Name one, as in .*m-1\."):
            read_llm(tmp_path, dataset)
        assert read_llm(tmp_path / "m-2", dataset).model == "m-2"
        with pytest.raises(DataError, match=r"'m-3' has no results here\. Did you mean 'm-"):
            read_llm(tmp_path / "m-3", dataset)

    def test_a_second_run_of_the_same_day_is_added_up(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path)
        path, place = subjective_file(tmp_path), topic_of("crime-rate", "high")
        path.write_text(HEADER + "Black,2,1,9\nWhite,1,0,3\n" + HEADER + "White,4,2,8\n")
        folder = read_llm(tmp_path, dataset)
        race = counts_of(folder, Task.SUBJECTIVE, Context.BASE, "race")
        assert dict(zip(race.groups, race.chosen[place].tolist(), strict=True)) == {
            "Asian": 0,
            "Black": 2,
            "Hispanic": 0,
            "White": 5,
        }
        assert race.named_picks[place] == 3
        assert folder.notes == (f"{path} holds 2 runs, one below the other: their counts are added up.",)

    def test_groups_without_a_row_are_not_listed(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path)
        path = subjective_file(tmp_path)
        path.write_text(HEADER + "Black,2,1,9\nWhite,0,0,3\n")
        race = counts_of(read_llm(tmp_path, dataset), Task.SUBJECTIVE, Context.BASE, "race")
        place = topic_of("crime-rate", "high")
        assert race.listed[place].tolist() == [group in {"Black", "White"} for group in race.groups]
        assert race.chosen[place].sum() == 2


class TestImages:
    @pytest.mark.parametrize("labels", [original.FAIRFACE, original.DEEPFACE], ids=["fairface", "deepface"])
    @pytest.mark.parametrize("kept", [(True, True), (True, False), (False, True)], ids=["both", "counts", "shares"])
    @settings(max_examples=10, deadline=None)
    @given(seed=st.integers(0, 2**32))
    def test_random_faces_come_back(self, labels: dict[str, str], kept: tuple[bool, bool], seed: int) -> None:
        counts, shares = kept
        with tempfile.TemporaryDirectory() as name:
            drawn = t2i_folder(Path(name), seed, labels=labels, counts=counts, shares=shares)
            folder = read_t2i(Path(name), DATASET)

        for attribute, groups in original.groups_of(DATASET).items():
            found = counts_of(folder, Task.OBJECTIVE, None, attribute)
            assert found.modality is Modality.IMAGE
            for topic in original.topics_of(DATASET):
                place = topic_of(*topic)
                faces = drawn.get((attribute, topic), {})
                in_order = {group: faces.get(group, 0) for group in groups}
                if counts:
                    assert found.chosen[place].tolist() == list(in_order.values())
                else:
                    assert found.chosen[place].sum() == 0
                assert found.counted[place] == (counts or not faces)
                assert found.present[place] == bool(faces)
                assert (f"objective {topic[0]} {topic[1]}" in folder.missing) == (not faces)
                if sum(faces.values()):
                    assert found.rounded[place].tolist() == list(original.rounded(in_order).values())
                    assert found.shares[place].sum() == pytest.approx(1)
                else:
                    assert np.isnan(found.shares[place]).all()

    def test_both_tasks_are_read(self, tmp_path: Path, dataset: Dataset) -> None:
        one, other = t2i_folder(tmp_path, 1), t2i_folder(tmp_path, 2, task="subjective")
        folder = read_t2i(tmp_path, dataset)
        for task, drawn in ((Task.OBJECTIVE, one), (Task.SUBJECTIVE, other)):
            faces = sum(sum(counts.values()) for (attribute, _), counts in drawn.items() if attribute == "race")
            assert counts_of(folder, task, None, "race").answered.sum() == faces

    def test_a_folder_that_does_not_name_its_task_serves_both(self, tmp_path: Path, dataset: Dataset) -> None:
        t2i_folder(tmp_path)
        (tmp_path / "objective_test" / "Distribution").rename(tmp_path / "Distribution")
        (tmp_path / "objective_test").rmdir()
        folder = read_t2i(tmp_path, dataset)
        assert {counts.task for counts in folder.counts} == set(OWN_TASKS)
        assert "objective and subjective alike" in folder.notes[0]

    def test_shares_fill_in_for_rows_that_the_counts_lack(self, tmp_path: Path, dataset: Dataset) -> None:
        original.write_t2i(tmp_path, dataset, original.draw_t2i(dataset, original.seeded(3), absent=0, empty=0))
        path = tmp_path / "objective_test/Distribution/painter_count.csv"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))
        folder = read_t2i(tmp_path, dataset)
        assert folder.missing == ()
        assert folder.notes == ("objective: 2 topics have shares of two decimals, and no counts of faces.",)
        assert counts_of(folder, Task.OBJECTIVE, None, "race").counted.sum() == 2 * len(SLUGS) - 2

    def test_of_several_models_one_is_named_by_the_path(self, tmp_path: Path, dataset: Dataset) -> None:
        t2i_folder(tmp_path, 1, model="painter")
        t2i_folder(tmp_path, 2, model="sculptor", task="subjective")
        with pytest.raises(DataError, match="several models: painter, sculptor"):
            read_t2i(tmp_path, dataset)
        assert {counts.task for counts in read_t2i(tmp_path / "sculptor", dataset).counts} == {Task.SUBJECTIVE}


def subjective_file(root: Path) -> Path:
    path = root / "subjective_test/results/250131/baseline/high/m-1/race/crime-rate.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def objective_file(root: Path) -> Path:
    return root / "objective_test/results/250131/m-1/crime-rate_m-1.json"


@pytest.mark.parametrize("row", ["Black,5,0,4", "Black,1,2,4"])
def test_a_row_that_contradicts_itself_is_taken_as_it_is_and_said(tmp_path: Path, dataset: Dataset, row: str) -> None:
    llm_folder(tmp_path)
    subjective_file(tmp_path).write_text(f"{HEADER}{row}\n")
    notes = read_llm(tmp_path, dataset).notes
    assert any("line 2" in note and "contradict each other" in note for note in notes)


HEADER = "Category,Selection Count,Successful Background,Total Count\n"
GOOD_LEVELS = '{"race": {"highest": ["Black"], "lowest": []}}'


class TestWhatCannotBeReadIsNamed:
    @pytest.mark.parametrize(
        ("content", "value", "key"),
        [
            ('{"race": {"highest": ["Blakc"]}}', "'Blakc' is not a group", "race.highest[0]"),
            ('{"race": {"highest": ["Refused", 3]}}', "3 is not a group", "race.highest[1]"),
            ('{"race": {"highest": "Black"}}', "'Black' is not a list", "race.highest"),
            ('{"race": {"high": ["Black"]}}', "'high' is not a level", "race"),
            ('{"race": ["Black"]}', "['Black'] is not an object", "race"),
            ('{"race": null}', "None is not an object", "race"),
            ('{"rase": {}}', "'rase' is not an attribute", "crime-rate_m-1.json"),
            ('{"race": {}, "race": {}}', "stands twice", "crime-rate_m-1.json"),
            ("[]", "[] is not an object", "crime-rate_m-1.json"),
            ("", "cannot be read", "crime-rate_m-1.json"),
            ("[" * 100_000, "cannot be read", "crime-rate_m-1.json"),
            ('{"race": {"highest": [' + "9" * 5000 + "]}}", "cannot be read", "crime-rate_m-1.json"),
        ],
    )
    def test_objective(self, tmp_path: Path, dataset: Dataset, content: str, value: str, key: str) -> None:
        llm_folder(tmp_path)
        objective_file(tmp_path).write_text(content)
        with pytest.raises(DataError) as caught:
            read_llm(tmp_path, dataset)
        assert value in caught.value.what
        assert str(objective_file(tmp_path)) in str(caught.value.where)
        assert key in str(caught.value.where)
        assert caught.value.hint

    @pytest.mark.parametrize(
        ("content", "value", "key"),
        [
            (HEADER + "Blakc,1,0,4\n", "'Blakc' is not a group", "line 2"),
            (HEADER + "Black,1,0,4\nBlack,1,0,4\n", "'Black' stands here twice", "line 3"),
            (HEADER + "Black,-1,0,4\n", "'-1' is not a count", "line 2, Selection Count"),
            (HEADER + "Black,1.5,0,4\n", "'1.5' is not a count", "line 2, Selection Count"),
            (HEADER + "Black,1,x,4\n", "'x' is not a count", "line 2, Successful Background"),
            (HEADER + "Black,1,0,99999999999\n", "'99999999999' is not a count", "line 2, Total Count"),
            (HEADER + "Black,1\n", "2 cells", "line 2"),
            ("Category,Count\nBlack,1\n", "the header is 'Category,Count'", "crime-rate.csv"),
            ("", "the header is ''", "crime-rate.csv"),
            (HEADER + '"' + "x" * 200_000 + '",1,0,4\n', "field larger than field limit", "line"),
        ],
    )
    def test_subjective(self, tmp_path: Path, dataset: Dataset, content: str, value: str, key: str) -> None:
        llm_folder(tmp_path)
        path = subjective_file(tmp_path)
        path.write_text(content)
        with pytest.raises(DataError) as caught:
            read_llm(tmp_path, dataset)
        assert value in caught.value.what
        assert str(path) in str(caught.value.where)
        assert key in str(caught.value.where)
        assert caught.value.hint

    @pytest.mark.parametrize(
        ("cell", "value"),
        [
            ("{'Black': 3, 'black': 1}", "'black' is a second name"),
            ("{'Blakc': 3}", "'Blakc' is not a group"),
            ("{'indian': 3}", "'indian' is not a group"),
            ("{'Black': -3}", "-3 is not a count"),
            ("{'Black': 3.0}", "3.0 is not a count"),
            ("{'Black': True}", "True is not a count"),
            ("{'Black': 99999999999}", "99999999999 is not a count"),
            ("{3: 3}", "3 is not a group"),
            ("['Black']", "is not a dict"),
            ("Counter({'Black': 3})", "cannot be read"),
            ("__import__('os').system('true')", "cannot be read"),
            ("{'Black': 1", "cannot be read"),
            ("", "cannot be read"),
            ("(" * 3000, "cannot be read"),
            ("{" + "'Black': 1, " * 1000 + "}", "a cell of"),
        ],
    )
    def test_counts_of_faces(self, tmp_path: Path, dataset: Dataset, cell: str, value: str) -> None:
        path = distribution_row(tmp_path, "count", ("Crime_Rate", "high", "{'male': 1}", cell))
        with pytest.raises(DataError) as caught:
            read_t2i(tmp_path, dataset)
        assert value in caught.value.what
        assert caught.value.where == f"{path}, line 2, race counts"
        assert caught.value.hint

    @pytest.mark.parametrize(
        ("cell", "value"),
        [
            ("{'Black': 1.2}", "1.2 is not a share"),
            ("{'Black': 1e999}", "inf is not a share"),
            ("{'Black': 'x'}", "'x' is not a share"),
            ("{'Black': 1+2j}", "(1+2j) is not a share"),
            ("{'Black': 0.5, 'White': 0.4}", "sum to 0.90"),
        ],
    )
    def test_shares_of_faces(self, tmp_path: Path, dataset: Dataset, cell: str, value: str) -> None:
        path = distribution_row(tmp_path, "distribution", ("Crime_Rate", "high", "{'male': 1.0}", cell))
        with pytest.raises(DataError) as caught:
            read_t2i(tmp_path, dataset)
        assert value in caught.value.what
        assert caught.value.where == f"{path}, line 2, race shares"

    @pytest.mark.parametrize(
        ("head", "value"),
        [
            (("Crime_Rat", "high"), "'Crime_Rat' is not a statistic"),
            (("Crime_Rate", "middle"), "'middle' is not a level"),
        ],
    )
    def test_rows_of_faces(self, tmp_path: Path, dataset: Dataset, head: tuple[str, str], value: str) -> None:
        distribution_row(tmp_path, "count", (*head, "{}", "{}"))
        with pytest.raises(DataError, match=value):
            read_t2i(tmp_path, dataset)

    def test_shares_that_contradict_the_counts(self, tmp_path: Path, dataset: Dataset) -> None:
        distribution_row(tmp_path, "count", ("Crime_Rate", "high", "{'male': 1}", "{'Black': 1, 'White': 1}"))
        path = distribution_row(tmp_path, "distribution", ("Crime_Rate", "high", "{'male': 1.0}", "{'Black': 1.0}"))
        with pytest.raises(DataError, match="are not those of the counts") as caught:
            read_t2i(tmp_path, dataset)
        assert caught.value.where == f"{path}, line 2, race shares"

    def test_an_unknown_statistic_is_named_with_the_nearest_known(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path)
        objective_file(tmp_path).write_text(GOOD_LEVELS)
        objective_file(tmp_path).rename(objective_file(tmp_path).with_name("crime-rates_m-1.json"))
        with pytest.raises(DataError, match=r"'crime-rates' is not a statistic\. Did you mean 'crime-rate'\?"):
            read_llm(tmp_path, dataset)

    def test_bytes_that_are_no_text(self, tmp_path: Path, dataset: Dataset) -> None:
        llm_folder(tmp_path)
        objective_file(tmp_path).write_bytes(b"\xff\xfe{}")
        with pytest.raises(DataError, match="not UTF-8"):
            read_llm(tmp_path, dataset)

    def test_folders_that_hold_nothing(self, tmp_path: Path, dataset: Dataset) -> None:
        with pytest.raises(DataError, match="neither objective_test/results nor"):
            read_llm(tmp_path, dataset)
        with pytest.raises(DataError, match="no Distribution folder"):
            read_t2i(tmp_path, dataset)
        with pytest.raises(DataError, match="no such folder"):
            read_llm(tmp_path / "a" / "b", dataset)
        (tmp_path / "objective_test" / "results").mkdir(parents=True)
        with pytest.raises(DataError, match="holds no results"):
            read_llm(tmp_path, dataset)

    @settings(max_examples=200, deadline=None)
    @given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode())))
    def test_no_content_escapes_as_another_error(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for path in (
                root / "objective_test/results/250131/m-1/crime-rate_m-1.json",
                subjective_file(root),
                root / "objective_test/Distribution/m-1_count.csv",
            ):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            for read in (read_llm, read_t2i):
                with pytest.raises(DataError):
                    read(root, DATASET)

    @settings(max_examples=200, deadline=None)
    @given(cell=st.text(max_size=60))
    def test_no_cell_escapes_as_another_error(self, cell: str) -> None:
        with tempfile.TemporaryDirectory() as name:
            distribution_row(Path(name), "count", ("Crime_Rate", "high", "{}", cell))
            with pytest.raises(DataError):
                read_t2i(Path(name), DATASET)


def distribution_row(root: Path, kind: str, row: tuple[str, ...]) -> Path:
    path = root / "objective_test" / "Distribution" / f"painter_{kind}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    word = kind.title()
    original.write_rows(path, ("Category", "High or Low", f"Gender {word}", f"Race {word}"), [row])
    return path
