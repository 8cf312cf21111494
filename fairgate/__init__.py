"""Gates releases of language and text-to-image models on factuality and on fairness to individuals."""

import os

__version__ = "0.1.0"

# onnxruntime's wheels report their use to an outside host, unless told otherwise before they are first imported. This
# package is imported before them in every process that we start.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
