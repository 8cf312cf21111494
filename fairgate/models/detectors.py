"""Who reads faces, as a model that the sampler asks: a detector on this machine, or a vision model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.errors import ConfigError
from fairgate.models.providers import OPENAI_URL, said
from fairgate.models.retries import Retries

if TYPE_CHECKING:
    from fairgate.faces.asking import Questions
    from fairgate.models.base import ChatModel
    from fairgate.models.retries import Aside
    from fairgate.settings import Settings
    from fairgate.store.images import ImageStore

# Chat models that can be shown an image.
VISION = ("openai",)


def asked_of(settings: Settings) -> Questions | None:
    """What a vision model is asked about an image, None where a detector reads it."""
    if (settings.detector_spec or "").partition("/")[0] not in VISION:
        return None
    from fairgate.faces.asking import questions

    return questions()


def make_detector(settings: Settings, store: ImageStore, aside: Aside) -> ChatModel:
    """The detector. Raises FairgateError, with the command to run, where packages or weights lack.

    `aside` is how a request that is repeated waits.
    """
    if asked_of(settings) is not None:
        if not (settings.detector_spec or "").partition("/")[2]:
            raise ConfigError(
                f"{settings.detector_spec!r} names no model.", where="--detector", hint="Write openai/NAME."
            )
        from fairgate.faces.asking import VisionDetector

        return VisionDetector(_vision(settings, store, aside), store)
    from fairgate.faces import detectors
    from fairgate.faces.detector import DetectorModel

    spec = settings.detector_spec or ""
    return DetectorModel(detectors.make(spec, weights=settings.weights, arguments=settings.detector_args), store)


def _vision(settings: Settings, store: ImageStore, aside: Aside) -> ChatModel:
    from fairgate.models.fields import body_fields
    from fairgate.models.openai import OPENAI, OpenAIChat

    return OpenAIChat(
        (settings.detector_spec or "").partition("/")[2],
        settings.detector_base_url or settings.base_url or said(OPENAI.address) or OPENAI_URL,
        said("DETECTOR_API_KEY") or said(OPENAI.key),
        body_fields(settings.detector_args),
        None,
        settings.max_in_flight,
        settings.timeout,
        retries=Retries(aside=aside),
        images=store,
    )
