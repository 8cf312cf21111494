"""onnxruntime: sessions on the processor that can really be used."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairgate.core.errors import FairgateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
UNUSABLE = "these weights cannot be used"
HINT = "pip install 'fairgate[images]'"


def offered() -> list[str]:
    """Providers that a session is to try, the best first: CUDA where this build of onnxruntime has it, then the CPU.

    A build that offers CUDA may still lack its libraries, and then falls back: `runs_on` says what became of it.
    """
    import onnxruntime

    available = onnxruntime.get_available_providers()
    return [each for each in (CUDA, CPU) if each in available]


def options(threads: int = 1) -> Any:
    """Options of a session that uses this many threads within one call: calls come from several threads at once."""
    import onnxruntime

    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = threads
    chosen.log_severity_level = 3
    return chosen


def session(path: Path, threads: int = 1) -> Any:
    """A session of the graph in this file. Raises FairgateError for one that onnxruntime does not load."""
    import onnxruntime
    from insightface.model_zoo.onnxruntime_utils import preload_cuda_libraries

    providers = offered()
    preload_cuda_libraries(providers)
    with translated(path, "onnxruntime does not load this graph"):
        return onnxruntime.InferenceSession(str(path), sess_options=options(threads), providers=providers)


@contextmanager
def translated(path: Path, what: str) -> Iterator[None]:
    """Turn what a graph brings about, or what it gives that is no answer, into FairgateError; `what` goes before it."""
    try:
        yield
    except FairgateError:
        raise
    except Exception as error:
        # Weights in disorder may give anything; onnxruntime has no common root of errors, insightface texts for few.
        raise FairgateError(
            f"{what}: {type(error).__name__}{f': {error}' if str(error) else ''}.",
            where=str(path),
            hint="Pull the weights again: fairgate weights pull",
        ) from error


def runs_on(sessions: Sequence[Any]) -> str:
    """`CUDA` where all sessions really use it, else `CPU`."""
    return "CUDA" if all(each.get_providers()[0] == CUDA for each in sessions) else "CPU"
