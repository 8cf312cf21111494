"""`diffusers/NAME`: a text-to-image pipeline of diffusers, from the hub or a folder."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import diffusers
import numpy as np
import torch
import transformers

from fairgate.core.domain import Reply
from fairgate.core.errors import CallFailed, ConfigError
from fairgate.core.redaction import Redaction, of_environment
from fairgate.ledger.images import ImageStore, said
from fairgate.providers.local.folder import check_code
from fairgate.providers.local.options import seed_of
from fairgate.providers.local.served import Served, device_of, dtype_of
from fairgate.providers.python.images import png

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.domain import Query
    from fairgate.providers.local.options import ImageOptions, Named


def load(named: Named[ImageOptions], places: int, ledger: str) -> Served:
    """The pipeline, loaded, with its images beside this ledger. Raises ConfigError where it cannot be."""
    try:
        model = Diffusers(named, ImageStore(Path(ledger)))
    except Exception as error:  # whatever the library raises of a folder that somebody else made
        raise ConfigError(
            f"it cannot be loaded ({type(error).__name__}: {Redaction(of_environment()).show(str(error))}).",
            where=named.label,
            hint="Give a text-to-image pipeline of the hub, or a folder of one.",
        ) from error
    return Served(named.label, model.answer, named.options.batch, places)


class Diffusers:
    """A pipeline, called by one thread: its scheduler holds the state of one call. Each image has a seed of its own."""

    def __init__(self, named: Named[ImageOptions], store: ImageStore) -> None:
        self._store, self._label, options = store, named.label, named.options
        if Path(named.name).is_dir():
            check_code(Path(named.name))
        dtype = dtype_of(options.dtype)
        diffusers.utils.logging.disable_progress_bar()
        transformers.utils.logging.disable_progress_bar()  # which loads the text encoder
        self._pipeline: Any = diffusers.DiffusionPipeline.from_pretrained(
            named.name,
            revision=options.revision,
            trust_remote_code=False,
            torch_dtype=None if dtype == "auto" else dtype,
        )
        self._pipeline.to(device_of(options.device))
        self._pipeline.set_progress_bar_config(disable=True)
        asked = {
            "num_inference_steps": options.steps,
            "guidance_scale": options.guidance,
            "width": options.width,
            "height": options.height,
        }
        self._asked = {key: value for key, value in asked.items() if value is not None}

    def answer(self, queries: Sequence[Query]) -> Sequence[Reply]:
        """The images of these prompts, in their order; an image that the safety checker hides is a refusal."""
        began = perf_counter()
        made = self._pipeline(
            [query.prompt for query in queries],
            # On the CPU: a GPU would draw other numbers.
            generator=[torch.Generator().manual_seed(seed_of(query)) for query in queries],
            output_type="np",
            **self._asked,
        )
        hidden = getattr(made, "nsfw_content_detected", None) or [False] * len(queries)
        latency = perf_counter() - began
        return [
            Reply("", filtered=True, latency=latency) if flag else self._stored(image, latency)
            for image, flag in zip(made.images, hidden, strict=True)
        ]

    def _stored(self, image: np.ndarray[Any, Any], latency: float) -> Reply:
        content = png(image)
        if content is None or not np.isfinite(image).all():
            raise CallFailed("the image holds what is no colour (NaN).", where=self._label, hint="Try dtype=float32.")
        return Reply(said(self._store.add(content)), latency=latency)
