"""Fetch a table from its source: the UCI archive, OpenML, or the repository that published it.

Nothing fetched is trusted: an archive is read in memory and never unpacked, nothing is unpickled,
and the caller compares the resulting table with the manifest before it keeps it.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import tarfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from odtbook.datasets.tables import LARGEST as LIMIT
from odtbook.datasets.tables import DataError, Table, at_most, labels

TIMEOUT = 60  # seconds without an answer
TAR_FORMS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


def download(url: str, limit: int = LIMIT) -> bytes:
    """Read ``url``; refuse what is not http(s), what is too large, and what ends early."""
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise DataError(f"{url} is not an http(s) address")
    request = urllib.request.Request(url, headers={"User-Agent": "odtlib"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        data = response.read(limit + 1)
        announced = response.headers.get("Content-Length")
    if len(data) > limit:
        raise DataError(f"{url} is larger than {limit >> 20} MB")
    if announced is not None and not announced.isdecimal():
        raise DataError(f"{url} announces a length of {announced!r}, which is not a number")
    if announced is not None and len(data) != int(announced):
        raise DataError(f"{url} ended after {len(data)} of {announced} bytes")
    return data


def _inside(name: str) -> bool:
    """Whether an archive member's name stays inside the folder that it would be unpacked in."""
    path = PurePosixPath(name.replace("\\", "/"))
    return not path.is_absolute() and ".." not in path.parts and ":" not in name


def read_member(data: bytes, member: str, limit: int = LIMIT) -> bytes:
    """Read one member of a zip or tar archive without unpacking anything.

    Neither the member nor, in a tar, all that stands before it has more than ``limit`` bytes.
    An archive any of whose members would land outside its folder (an absolute name, a ``..``, a
    link) is refused as a whole: it is not the archive that its publisher made.
    """
    stream = io.BytesIO(data)
    try:
        if zipfile.is_zipfile(stream):
            with zipfile.ZipFile(stream) as archive:
                entries = {info.filename: info.file_size for info in archive.infolist()}
                _check_members(entries, member, limit)
                return archive.read(member)
        stream.seek(0)
        forms = [opener for start, opener in TAR_FORMS.items() if data.startswith(start)]
        for opener in forms:
            with opener(stream) as packed:
                stream = io.BytesIO(at_most(packed, limit, "the archive"))
        with tarfile.open(fileobj=stream, mode="r:") as archive:
            infos = archive.getmembers()
            if any(not (info.isfile() or info.isdir()) for info in infos):
                raise DataError("the archive holds links or devices")
            _check_members({info.name: info.size for info in infos}, member, limit)
            if archive.getmember(member).isdir():
                raise DataError(f"member {member!r} of the archive is a folder")
            return archive.extractfile(member).read()
    except DataError:
        raise
    except Exception as error:  # readers raise errors of a dozen kinds on damaged bytes
        raise DataError(
            f"the archive is damaged, cut short or of an unknown form ({error})"
        ) from error


def _check_members(entries: dict[str, int], member: str, limit: int) -> None:
    for name in entries:
        if not _inside(name):
            raise DataError(f"the archive would write outside its folder ({name!r})")
    if member not in entries:
        raise DataError(f"the archive has no member {member!r}")
    if entries[member] > limit:
        raise DataError(f"member {member!r} is larger than {limit >> 20} MB")


@dataclass(frozen=True)
class Delimited:
    """A text file of one row per line, by itself or in an archive, and the cleaning it needs.

    Lines that start with ``%`` or ``@`` (ARFF declarations) and empty lines are skipped.
    """

    url: str
    members: tuple[str, ...] = ()  # path through nested archives to the file
    delimiter: str | None = ","  # None: any white space
    header: int = 0  # lines before the first row
    target: int = -1  # position of the class
    drop: tuple[int, ...] = ()  # positions to leave out (identifiers)
    classes: Mapping[str, int] | None = None  # class text to integer; None: already a number
    levels: Mapping[int, str] = field(default_factory=dict)  # ordinal letters of a column, in order
    one_hot: str | None = None  # "value_column" or "column_value": how the columns are named
    feature_names: tuple[str, ...] | None = None  # of the one-hot table
    limit: int = LIMIT  # bytes of the file, and of each archive on the way to it

    def text(self) -> str:
        data = download(self.url, self.limit)
        for member in self.members:
            data = read_member(data, member, self.limit)
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"{self.url} is not text") from error

    def rows(self) -> list[list[str]]:
        lines = [
            line for line in self.text().splitlines() if line.strip() and line[0] not in "%@"
        ]
        if self.delimiter is None:
            return [line.split() for line in lines]
        return list(csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True))

    def table(self) -> Table:
        try:
            rows = self.rows()
            header, body = rows[: self.header], rows[self.header :]
            width = len(body[0])
            if any(len(row) != width for row in body):
                raise ValueError("rows differ in length")
            target = self.target % width
            keep = [j for j in range(width) if j != target and j not in self.drop]
            y = [self.classes[row[target]] if self.classes else float(row[target]) for row in body]
            if self.one_hot:
                columns = self._one_hot(header[0] if header else None, body, keep)
            else:
                columns = [self._numbers(j, body) for j in keep]
            return Table(np.column_stack(columns), labels(np.array(y, dtype=np.float64)))
        except (IndexError, KeyError, ValueError, csv.Error) as error:
            raise DataError(f"{self.url} is not in the expected form ({error})") from error

    def _numbers(self, j: int, body: list[list[str]]) -> np.ndarray:
        if j in self.levels:
            return np.array([float(self.levels[j].index(row[j])) for row in body])
        return np.array([float(row[j]) for row in body])

    def _one_hot(self, header, body, keep) -> list[np.ndarray]:
        """The columns of ``feature_names``: numbers under a plain name, else 0/1 of one value."""
        names = header or [f"Feat{j + 1}" for j in range(len(body[0]))]
        position = {names[j]: j for j in keep}
        columns = []
        for name in self.feature_names:
            if name in position:
                columns.append(self._numbers(position[name], body))
                continue
            first, _, last = name.rpartition("_")
            value, column = (first, last) if self.one_hot == "value_column" else (last, first)
            j = position[column]
            columns.append(np.array([float(row[j] == value) for row in body]))
        return columns


@dataclass(frozen=True)
class Rows:
    """A comma-separated file with a header, which ``read`` makes a table of."""

    url: str
    read: Callable[[list[list[str]]], Table]

    def table(self) -> Table:
        try:
            return self.read(Delimited(self.url).rows())
        except (IndexError, ValueError, csv.Error) as error:
            raise DataError(f"{self.url} is not in the expected form ({error})") from error


@dataclass(frozen=True)
class OpenML:
    """A data set of OpenML, through scikit-learn."""

    data_id: int
    classes: Mapping[str, int]

    @property
    def url(self) -> str:
        return f"https://www.openml.org/d/{self.data_id}"

    def table(self) -> Table:
        from sklearn.datasets import fetch_openml

        # Our own cache keeps the table once it is verified; scikit-learn's would keep it before.
        bunch = fetch_openml(
            data_id=self.data_id, as_frame=False, parser="liac-arff", cache=False, n_retries=1
        )
        try:
            y = np.array([self.classes[str(label)] for label in bunch.target], dtype=np.int64)
            return Table(np.ascontiguousarray(bunch.data, dtype=np.float64), y)
        except (KeyError, ValueError) as error:
            raise DataError(f"{self.url} is not in the expected form ({error})") from error
