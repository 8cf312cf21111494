"""Keeps account of what Allure could not write in mid-run: the cases go on, and the run ends with an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import allure_commons

if TYPE_CHECKING:
    from collections.abc import Generator


class AllureLosses:
    """A plugin of allure_commons around whatever writes there. `said` names what was lost, a sentence each."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def _kept(self) -> Generator[None, object, object]:
        try:
            return (yield)
        except OSError as error:
            said = f"{error.filename or 'Allure'} cannot be written: {error.strerror or type(error).__name__}."
            if not self.said:
                self.said.append(said)
            return None

    @allure_commons.hookimpl(wrapper=True)
    def report_result(self) -> Generator[None, object, object]:
        """Around a test's result."""
        return (yield from self._kept())

    @allure_commons.hookimpl(wrapper=True)
    def report_container(self) -> Generator[None, object, object]:
        """Around what was done before and after a test."""
        return (yield from self._kept())

    @allure_commons.hookimpl(wrapper=True)
    def report_attached_file(self) -> Generator[None, object, object]:
        """Around an attachment that is a file."""
        return (yield from self._kept())

    @allure_commons.hookimpl(wrapper=True)
    def report_attached_data(self) -> Generator[None, object, object]:
        """Around an attachment."""
        return (yield from self._kept())
