"""Gates releases of language and text-to-image models on factuality and on fairness to individuals.

>>> import fairgate
>>> report = fairgate.run("control/oracle", select="crime and base")
>>> report.gates[0].verdict
<Verdict.INCONCLUSIVE: 'inconclusive'>
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairgate.api import run
    from fairgate.benchmarks.gate_result import GateResult, Verdict
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.core.errors import ConfigError, FairgateError
    from fairgate.providers.python.batching import batched
    from fairgate.reports.report import Report

__version__ = "0.1.0"
__all__ = [
    "ConfigError",
    "FairgateError",
    "GateResult",
    "Report",
    "ScoreResult",
    "Verdict",
    "__version__",
    "batched",
    "run",
]

# onnxruntime's wheels report their use to an outside host, unless told otherwise before they are first imported. This
# package is imported before them in every process that we start.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

# Imported where they are used: `import fairgate` loads nothing else.
_HOMES = {
    "ConfigError": "fairgate.core.errors",
    "FairgateError": "fairgate.core.errors",
    "GateResult": "fairgate.benchmarks.gate_result",
    "Report": "fairgate.reports.report",
    "ScoreResult": "fairgate.benchmarks.score_result",
    "Verdict": "fairgate.benchmarks.gate_result",
    "batched": "fairgate.providers.python.batching",
    "run": "fairgate.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
