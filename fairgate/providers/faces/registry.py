"""Who reads faces, as a model that the sampler asks: a detector on this machine, or a vision model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError
from fairgate.providers.chat.registry import NamedModel, chat_model, headers_beside, said, shares
from fairgate.providers.faces.factory import VISION
from fairgate.providers.retries import Retries

if TYPE_CHECKING:
    from fairgate.ledger.images import ImageStore
    from fairgate.options.settings import Settings
    from fairgate.providers.base import ChatModel
    from fairgate.providers.faces.vision_detector import Questions
    from fairgate.providers.retries import Aside


def asked_of(settings: Settings) -> Questions | None:
    """What a vision model is asked about an image, None where a detector reads it."""
    if (settings.detector_spec or "").partition("/")[0] not in VISION:
        return None
    from fairgate.providers.faces.vision_detector import questions

    return questions()


def make_detector(settings: Settings, store: ImageStore, aside: Aside) -> ChatModel:
    """The detector. Raises FairgateError, with the command to run, where packages or weights lack.

    `aside` is how a request that is repeated waits.
    """
    if asked_of(settings) is not None:
        provider, _, name = (settings.detector_spec or "").partition("/")
        if not name:
            raise ConfigError(
                f"{settings.detector_spec!r} names no model.",
                where="--detector",
                hint=f"Write {provider}/NAME.",
            )
        from fairgate.providers.faces.vision_detector import VisionDetector

        return VisionDetector(_vision(settings, store, aside), store)
    from fairgate.providers.faces import factory
    from fairgate.providers.faces.detector import DetectorModel

    spec = settings.detector_spec or ""
    return DetectorModel(factory.make(spec, weights=settings.weights, arguments=settings.detector_args), store)


def _vision(settings: Settings, store: ImageStore, aside: Aside) -> ChatModel:
    provider, _, name = (settings.detector_spec or "").partition("/")
    address = settings.detector_base_url
    headers = headers_beside(settings, provider, settings.detector_headers, address, "--detector-header")
    address = address or (settings.base_url if shares(settings, provider) else None)
    key = said("DETECTOR_API_KEY")
    given = NamedModel(provider, name, settings.detector_args, address, key, headers, images=store)
    return chat_model(given, settings, Retries(aside=aside))
