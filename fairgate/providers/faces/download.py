"""Weights pulled from an address or taken from a file, checked, and put where detectors look for them.

Only https is fetched, also after a redirect (http from this machine's own servers), no more than a limit, into a file
that appears whole or not at all. What is pulled first is trusted; its SHA-256 is recorded and holds from then on.
"""

from __future__ import annotations

import asyncio
import fnmatch
import hashlib
import json
import lzma
import shutil
import tempfile
import zipfile
import zlib
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from filelock import FileLock

from fairgate.core.current_folder import check_unlinked
from fairgate.core.errors import ConfigError, FairgateError
from fairgate.core.files import LOCK
from fairgate.core.redaction import Redaction
from fairgate.providers.faces.weights import SUMS, Network, PublishedNetwork, WeightsFolder, kinds, sum_of
from fairgate.providers.http import addresses
from fairgate.providers.http.transports import transport_to_others, usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    # Bytes so far, and of how many; None where the server does not say.
    Progress = Callable[[int, int | None], None]

LARGEST = 2**30  # bytes of a file, and of what is unpacked from it
REDIRECTS = 5
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "fairgate"}
BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)  # what a damaged package raises
MOST_DIRECTORY, MOST_COMMENT = 2**20, 2**16 + 64  # bytes in an archive: of its list of files, and behind that
END64 = b"PK\6\7"  # where the list is too long for the plain form
IDLE = 60.0  # seconds without a byte
LONGEST = 3_600.0  # seconds for a whole download


def _is_pulled(path: Path, recorded: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether a file is what was recorded when it was pulled."""
    of = recorded.get(f"{path.parent.name}/{path.name}")
    return of is not None and not path.is_symlink() and of.get("sha256") == sum_of(path)


def _check_directory(archive: Path) -> None:
    """Raise BadZipFile for an archive of far more files than a package of models has: each takes memory to list."""
    with archive.open("rb") as file:
        file.seek(max(0, archive.stat().st_size - len(END64) - MOST_COMMENT))
        tail = file.read()
    at = tail.rfind(b"PK\5\6")
    size = int.from_bytes(tail[at + 12 : at + 16], "little")
    if at >= 0 and (size > MOST_DIRECTORY or END64 in tail):
        raise zipfile.BadZipFile(f"its list of files has more than {MOST_DIRECTORY:,} bytes")


def package_address(package: str = "buffalo_l") -> str:
    """Where insightface's own loader gets this package of models. Raises FairgateError where it is not installed."""
    try:
        from insightface.utils.storage import model_zoo_download_url
    except ImportError as error:
        raise FairgateError(
            f"insightface, which knows the address of its models, cannot be imported ({error}).",
            hint="pip install 'fairgate[images]', or give the address with --url URL.",
        ) from error
    return str(model_zoo_download_url(f"{package}.zip"))


class Puller:
    """Puts weights into a folder. `replace`: other content than was recorded takes its place, and is recorded."""

    def __init__(
        self,
        folder: WeightsFolder,
        *,
        replace: bool = False,
        progress: Progress = lambda *_: None,
        largest: int = LARGEST,
        longest: float = LONGEST,
    ) -> None:
        self._folder, self._replace, self._progress = folder, replace, progress
        self._largest, self._longest = largest, longest

    def pull_package(self, url: str, sha256: str | None = None) -> list[Network]:
        """All networks that insightface's package holds for us; the rest of the package is not kept."""
        with self._workplace() as work:
            archive = self._fetch(url, work / "package.zip", sha256)
            try:
                _check_directory(archive)
                with zipfile.ZipFile(archive) as package:
                    wanted = [each for each in kinds().values() if each.package is not None]
                    parts = [(kind, self._unpacked(package, kind, work)) for kind in wanted]
            except (*BROKEN, OSError, NotImplementedError, RuntimeError) as error:
                raise FairgateError(f"is no package of models: {error}.", where=shown(url)) from error
            return [self._keep(kind, path, shown(url)) for kind, path in parts]

    def pull(self, kind: PublishedNetwork, url: str, sha256: str | None = None) -> Network:
        """One network, from an address of the user's."""
        with self._workplace() as work:
            name = Path(url.partition("?")[0]).name
            name = name if name.endswith(".onnx") else f"{kind.name}.onnx"
            return self._keep(kind, self._fetch(url, work / name, sha256), shown(url))

    def add(self, kind: PublishedNetwork, path: Path, sha256: str | None = None) -> Network:
        """One network, from a file of the user's, which stays where it is."""
        with self._workplace() as work:
            copied = work / f"{path.stem}.onnx"
            try:
                shutil.copyfile(path, copied)
            except OSError as error:
                raise FairgateError(f"cannot be read: {error.strerror}.", where=str(path)) from error
            _compare(sum_of(copied), sha256, str(path))
            try:
                return self._keep(kind, copied, path.name)
            except FairgateError as error:
                if error.where is None or not error.where.startswith(str(work)):
                    raise
                # The copy is gone when that is read.
                raise FairgateError(error.what, where=str(path), hint=error.hint) from error

    @contextmanager
    def _workplace(self) -> Iterator[Path]:
        """A folder beside the weights, so that what is ready is moved and never copied."""
        try:
            self._folder.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._folder.path, prefix=".pulling-") as work:
                yield Path(work)
        except OSError as error:
            raise FairgateError(
                f"{error.strerror or error}.",
                where=str(self._folder.path),
                hint="Name another folder with --weights DIR.",
            ) from error

    def _keep(self, kind: PublishedNetwork, path: Path, origin: str) -> Network:
        _check(kind, path)
        # Each writes the record of all.
        with FileLock(self._folder.path / LOCK):
            return self._kept(kind, path, origin)

    def _kept(self, kind: PublishedNetwork, path: Path, origin: str) -> Network:
        sha256, aim = sum_of(path), self._folder.path / kind.name / path.name
        recorded = self._folder.sums()
        before = {key: of for key, of in recorded.items() if key.startswith(f"{kind.name}/")}
        for key, of in before.items():
            if of.get("sha256") != sha256 and not self._replace:
                raise FairgateError(
                    f"its SHA-256 is {sha256}, and that of {key} was {of.get('sha256')} when it was pulled.",
                    where=origin,
                    hint="Find out why it changed; --replace takes it all the same.",
                )
        # A folder of weights may be somebody else's, links in it as well.
        inner = Path(kind.name) / path.name
        check_unlinked(self._folder.path, inner, "--weights", "Remove it, or name another folder.")
        others = [each for each in self._folder.files(kind.name) if each != aim]
        if foreign := next((each for each in others if not _is_pulled(each, before)), None):
            raise FairgateError(
                f"{foreign.name} lies there, which was not pulled: which is to be used?",
                where=str(foreign.parent),
                hint="Move it away, or name another folder with --weights DIR.",
            )
        aim.parent.mkdir(exist_ok=True)
        size = path.stat().st_size
        path.replace(aim)
        for other in others:
            other.unlink()
        about = {"sha256": sha256, "bytes": size, "from": origin, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        kept = {key: of for key, of in recorded.items() if key not in before}
        self._record({**kept, f"{kind.name}/{aim.name}": about})
        return Network(aim, sha256)

    def _record(self, sums: dict[str, dict[str, object]]) -> None:
        with tempfile.NamedTemporaryFile(
            "w", dir=self._folder.path, prefix=".sums-", encoding="utf-8", delete=False
        ) as file:
            json.dump(sums, file, indent=1, sort_keys=True)
        Path(file.name).replace(self._folder.path / SUMS)

    def _unpacked(self, package: zipfile.ZipFile, kind: PublishedNetwork, work: Path) -> Path:
        names = [each.filename for each in package.infolist()]
        found = [each for each in names if fnmatch.fnmatch(Path(each).name, kind.file)]
        if len(found) != 1:
            raise FairgateError(
                f"holds {len(found)} files of the form {kind.file}, for {kind.title}; it holds {', '.join(names[:12])}."
            )
        aim = work / Path(found[0]).name
        with package.open(found[0]) as packed, aim.open("wb") as file:
            left = self._largest
            while block := packed.read(2**20):
                left -= len(block)
                if left < 0:
                    raise FairgateError(f"{found[0]} unpacks to more than {self._largest} bytes.")
                file.write(block)
        return aim

    def _fetch(self, url: str, aim: Path, sha256: str | None) -> Path:
        try:
            # In an event loop, where Ctrl-C is handled while the server sends nothing.
            found = asyncio.run(asyncio.wait_for(self._followed(url, aim), self._longest))
        except TimeoutError:
            problem = f"it takes longer than {self._longest / 60:.0f} minutes"
        except httpx2.TransportError as error:
            problem = Redaction().show(str(error))
        else:
            _compare(found, sha256, shown(url))
            return aim
        # Raised here, so that the library's words, which hold the whole address, do not hang on it as its context.
        raise FairgateError(
            f"could not be fetched: {problem}.",
            where=shown(url),
            hint="Nothing was kept. Try again, or bring the files: fairgate weights add KIND FILE",
        )

    async def _followed(self, url: str, aim: Path) -> str:
        """The SHA-256 of what was fetched into this file."""
        # Some hosts of large files redirect in circles without their cookies.
        here, cookies = _allowed(_read(url), redirected_from=None), httpx2.Cookies()
        for _ in range(REDIRECTS + 1):
            async with usable(transport_to_others(here, idle=IDLE)) as transport:
                request = httpx2.Request("GET", here, headers=HEADERS)
                cookies.set_cookie_header(request)
                answer = await transport.handle_async_request(request)
                answer.request = request
                async with aclosing(answer):
                    cookies.extract_cookies(answer)
                    if not 300 <= answer.status_code < 400:
                        return await self._write(answer, aim, shown(url))
                    here = _allowed(_onward(here, answer), redirected_from=here)
        raise FairgateError(f"redirects more than {REDIRECTS} times.", where=shown(url))

    async def _write(self, answer: httpx2.Response, aim: Path, where: str) -> str:
        if answer.status_code != 200:
            raise FairgateError(f"answers with HTTP {answer.status_code}.", where=where, hint="Check the address.")
        said = answer.headers.get("content-length", "")
        whole = int(said) if said.isdigit() else None
        digest, size = hashlib.sha256(), 0
        with aim.open("wb") as file:
            async for block in answer.aiter_raw():
                size += len(block)
                if max(size, whole or 0) > self._largest:
                    raise FairgateError(f"is larger than {self._largest} bytes.", where=where)
                digest.update(block)
                file.write(block)
                self._progress(size, whole)
        return digest.hexdigest()


def _read(url: str) -> httpx2.URL:
    found = addresses.parsed(url)
    if found is None:
        raise ConfigError(
            f"{shown(url)} cannot be read.", where="--url", hint="Give an address that begins with https://."
        )
    return found


def _onward(here: httpx2.URL, answer: httpx2.Response) -> httpx2.URL:
    found = addresses.joined(here, answer.headers.get("location", ""))
    if found is None:
        raise FairgateError("redirects to an address that cannot be read.", where=shown(str(here)))
    return found


def _allowed(url: httpx2.URL, *, redirected_from: httpx2.URL | None) -> httpx2.URL:
    here = url.scheme == "http" and addresses.is_here(url)
    if url.scheme == "https" or (here and (redirected_from is None or redirected_from.scheme == "http")):
        return url
    where = "it redirects there" if redirected_from is not None else "--url"
    raise ConfigError(
        f"{shown(str(url))!r} is not fetched: only https is (http from this machine).",
        where=where,
        hint="Give an address that begins with https://.",
    )


def shown(url: str) -> str:
    """An address without what may be secret in it: user, query."""
    found = addresses.parsed(url)
    return "the address" if found is None else addresses.shown(found)


def _compare(found: str, wanted: str | None, where: str) -> None:
    if wanted is not None and wanted.strip().lower() != found:
        raise FairgateError(
            f"its SHA-256 is {found}, not {wanted.strip()}.", where=where, hint="Nothing was kept of it."
        )


def _check(kind: PublishedNetwork, path: Path) -> None:
    """That it is a network of this kind: loaded as detectors will."""
    from fairgate.providers.faces.attributes import FairFace, GenderAge
    from fairgate.providers.faces.face_finder import FaceFinder

    if kind.name == "fairface":
        FairFace(path)
    elif kind.name == "genderage":
        GenderAge(path)
    else:
        # insightface reads whole folders.
        with tempfile.TemporaryDirectory(dir=path.parent) as alone:
            shutil.copyfile(path, Path(alone) / path.name)
            FaceFinder(Path(alone), size=640, confidence=0.5)
