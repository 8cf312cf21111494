"""Whether this process may have the address space that the libraries of a run reserve (`ulimit -v`).

With less they fail at any point of their import or of the run: with a traceback, by a crash, or by waiting for ever for
a thread that could not be started, deaf to signals.
"""

from __future__ import annotations

import sys

# Measured on two cores (docs/limits.md): a run over text needs 2,000,000 kB, one over images 2,500,000 kB.
NEEDED = 2_500_000  # kB
ERROR = 7


def shortage() -> str | None:
    """What is wrong with the limit, and what to do; None where it is wide enough, or the system has none."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= NEEDED * 1024:
        return None
    return (
        f"ulimit -v: {limit // 1024} kB of address space are too little, a run reserves up to {NEEDED} kB. "
        f"Raise the limit (ulimit -v {NEEDED}), or limit the memory itself, as `docker run --memory` does."
    )


def require() -> None:
    """End the process with exit code 7 and one line where there is too little. For the start, before all imports."""
    if (said := shortage()) is not None:
        print(said, file=sys.stderr)
        raise SystemExit(ERROR)
