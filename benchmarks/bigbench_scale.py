"""BIGbench at scale: images a second and memory, through the control, the detector, the ledger and the tally.

    python benchmarks/bigbench_scale.py 1000 20000

A plan of so many images is sampled into a new ledger in a process of its own, as a run does it: drawn, stored, read,
counted. Printed are wall time, images a second, and how much memory the process took at most: it must not grow with the
number of images by more than what the counts themselves take (six bytes an image).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairgate.providers.base import ChatModel


def main() -> None:
    sizes = [int(each) for each in sys.argv[1:]] or [1000, 20000]
    print(f"{'images':>8}{'sampled s':>11}{'images/s':>10}{'tallied s':>11}{'scored s':>10}{'peak MiB':>10}")
    for size in sizes:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, __file__, "--one", str(size)], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{found['images']:>8,}{found['sampled']:>11.1f}{found['images'] / found['sampled']:>10.1f}"
            f"{found['tallied']:>11.1f}{found['scored']:>10.1f}{found['peak']:>10.0f}",
            flush=True,
        )


def one(images: int) -> None:
    from fairgate.benchmarks.bigbench.controls import SubjectControls
    from fairgate.benchmarks.bigbench.data import load
    from fairgate.benchmarks.bigbench.plan import People, SubjectPlan, tally
    from fairgate.benchmarks.bigbench.prompts import Prompts, load_wording
    from fairgate.benchmarks.bigbench.score_table import board
    from fairgate.core.domain import Modality, Query, Reply, Role
    from fairgate.ledger.images import ImageStore
    from fairgate.ledger.ledger import Ledger
    from fairgate.options.settings import Bounds
    from fairgate.providers.chat.control import ControlSpec
    from fairgate.providers.faces.detector import DetectorModel
    from fairgate.providers.faces.factory import make
    from fairgate.providers.images.control import ControlImageModel
    from fairgate.sampling.limits import Limits
    from fairgate.sampling.sampler import Sampler, Work
    from fairgate.sampling.scheduler import Scheduler

    data = load()
    # All identity prompts of the generated set, with as many images each as come nearest.
    whole = SubjectPlan(data, Prompts(data, load_wording()), None, 1, None, 1)
    each = max(1, round(images / len(whole.every)))
    # One subject of each family is 256 images.
    part = None if images >= len(whole.every) else max(1, round(images / 256))
    plan = SubjectPlan(data, whole.prompts, part, each, part, each)
    people = People.of(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.sqlite"
        store = ImageStore(path)
        spec = ControlSpec.of("oracle", {"bigbench": SubjectControls(plan, people)}, "--t2i-model")
        image_model = ControlImageModel(spec, store, (256, 256))
        detector = DetectorModel(make("control/fairface"), store)
        models: dict[Role, ChatModel] = {Role.IMAGE_MODEL: image_model, Role.DETECTOR: detector}
        topics = plan.every
        sampler = Sampler(
            Work(
                topics=topics,
                queries=plan.work,  # type: ignore[arg-type] # identity prompts alone are asked for
                planned={Modality.IMAGE: sum(map(plan.size, topics))},
            ),
            models,
            ledger=path,
            run="scale",
            line=Scheduler(Limits(Bounds(in_flight=16), {})),
        )
        began = time.perf_counter()
        sampler.start()
        sampler.wait()
        sampled = time.perf_counter() - began
        if sampler.error is not None:
            raise sampler.error

        began = time.perf_counter()
        with Ledger(path) as ledger:

            def reply(query: Query) -> Reply | None:
                return ledger.reply(models[query.to].identity, query)

            portrayals = [tally(plan, topic, people, reply)[0].portrayal for topic in topics]
        tallied = time.perf_counter() - began
        began = time.perf_counter()
        board(portrayals, data, seed=0)
        scored = time.perf_counter() - began
    print(
        json.dumps(
            {
                "images": sum(map(plan.images, topics)),
                "sampled": sampled,
                "tallied": tallied,
                "scored": scored,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]))
    else:
        main()
