"""Fetching: every recipe on the first lines of its source, and a server that misbehaves."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import threading
import time
import tracemalloc
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from odtbook.datasets import DataError, catalogue, fetch, load, loading, manifest, tables
from odtbook.datasets.fetch import Delimited, OpenML, read_member
from odtbook.datasets.tables import Table


def zipped(method=zipfile.ZIP_DEFLATED, **files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info


# The first row of each source, as its publisher writes it.
FIRST_LINES = {
    "banknote": "3.6216,8.6661,-2.8073,-0.44699,0",
    "Ionosphere": "1,0,0.99539,-0.05889,0.85243,0.02306,0.83398,-0.37708,1,0.03760,0.85243,"
    "-0.17755,0.59755,-0.44945,0.60536,-0.38223,0.84356,-0.38542,0.58212,-0.32192,0.56971,"
    "-0.29674,0.36946,-0.47357,0.56811,-0.51171,0.41078,-0.46168,0.21266,-0.34090,0.42267,"
    "-0.54487,0.18641,-0.45300,g",
    "seismic_bumps": "@attribute seismic {a,b,c,d}\n@data\n"
    "a,a,N,15180,48,-72,-72,a,0,0,0,0,0,0,0,0,0,0,0",
    "Statlog_satellite": "92 115 120 94 84 102 106 79 84 102 102 83 101 126 133 103 92 112 118 85 "
    "84 103 104 81 102 126 134 104 88 121 128 100 84 107 113 87 3 ",
    "HTRU_2": "140.5625,55.68378214,-0.234571412,-0.699648398,3.199832776,19.11042633,"
    "7.975531794,74.24222492,0",
    "letter_recognition": "T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8",
    "magic04": "28.7967,16.0021,2.6449,0.3918,0.1982,27.7004,22.011,-8.2027,40.092,81.8828,g",
    "monk1": " 1 1 1 1 1 3 1 data_5",
    "bank_conv": '"age";"job";"marital";"education";"default";"balance";"housing";"loan";'
    '"contact";"day";"month";"duration";"campaign";"pdays";"previous";"poutcome";"y"\n'
    '30;"unemployed";"married";"primary";"no";1787;"no";"no";"cellular";19;"oct";79;1;-1;0;'
    '"unknown";"no"',
    "biodeg": "3.919;2.6909;0;0;0;0;0;31.4;2;0;0;0;3.106;2.55;9.002;0;0.96;1.142;0;0;0;1.201;0;0;0;"
    "0;1.932;0.011;0;0;4.489;0;0;0;0;2.949;1.591;0;7.253;0;0;RB",
    "messidor": "@data\n1,1,22,22,22,19,18,14,49.895756,17.775994,5.27092,0.771761,0.018632,"
    "0.006864,0.003923,0.003923,0.486903,0.100025,1,0",
    "chess": "f,f,f,f,f,f,f,f,f,f,f,f,l,f,n,f,f,t,f,f,f,f,f,f,f,t,f,f,f,f,f,f,f,t,t,n,won",
    "winequality-red": '"fixed acidity";"volatile acidity";"citric acid";"residual sugar";'
    '"chlorides";"free sulfur dioxide";"total sulfur dioxide";"density";"pH";"sulphates";'
    '"alcohol";"quality"\n7.4;0.7;0;1.9;0.076;11;34;0.9978;3.51;0.56;9.4;5',
    "continuous/bank": None,  # written below from the table itself
    "scores": "gender,race/ethnicity,parental level of education,lunch,test preparation course,"
    "math score,reading score,writing score\n"
    "female,group D,some college,standard,completed,59,70,78",
    "cars": "INDEX,TARGET_FLAG,TARGET_AMT,KIDSDRIV,AGE,HOMEKIDS,YOJ,INCOME,PARENT1,HOME_VAL,"
    "MSTATUS,SEX,EDUCATION,JOB,TRAVTIME,CAR_USE,BLUEBOOK,TIF,CAR_TYPE,RED_CAR,OLDCLAIM,CLM_FREQ,"
    "REVOKED,MVR_PTS,CAR_AGE,URBANICITY\n"
    '1,0,0,0,60,0,11,"$67,349",No,$0,z_No,M,PhD,Professional,14,Private,"$14,230",11,Minivan,yes,'
    '"$4,461",2,No,3,18,Highly Urban/ Urban',
    "hts_500_0": "X1,X2,X3,X4,X5,X6,y1,y2,y3,y4,y5,y6,y7,y8,y9,y10,y11,y12,y13\n"
    "0.5555555555555556,0.0,0.3333333333333333,0.3333333333333333,0.7777777777777777,1.0,0,0,0,0,7,0,1,0,0,0,4,3,0",
}
# What becomes of the first lines of the sets that are not shipped.
FIRST_ROWS = {
    "scores": (["female", "group D", "some college", "standard", "completed"], [59, 70, 78]),
    "cars": ([0, 60, 0, 11, 67349, 0, 14, 14230, 11, 4461, 2, 3, 18], [0, 0]),
    "hts_500_0": (
        [0.5555555555555556, 0.0, 0.3333333333333333, 0.3333333333333333, 0.7777777777777777, 1.0],
        [0, 0, 0, 0, 7, 0, 1, 0, 0, 0, 4, 3, 0],
    ),
}


@pytest.mark.parametrize("name", FIRST_LINES)
def test_recipes_on_the_first_line_of_their_source(monkeypatch, name):
    if name in FIRST_ROWS:
        X, y = (np.array([values]) for values in FIRST_ROWS[name])
    else:
        known = loading.find_table(catalogue.entries()[name])
        X, y = known.X[:1], known.y[:1]
    text = FIRST_LINES[name]
    if text is None:
        text = " ".join([str(y[0]), *(repr(float(value)) for value in X[0])])
    source = catalogue.entries()[name].downloads[0]
    data = text.encode()
    for member in reversed(getattr(source, "members", ())):
        data = zipped(**{member: data, "Index": "also there"})
    asked = []
    monkeypatch.setattr(fetch, "download", lambda url, limit: asked.append(url) or data)
    table = source.table()
    assert asked == [source.url]
    assert np.array_equal(table.X, X)
    assert np.array_equal(table.y, y)


@pytest.mark.parametrize("name", ["bank_conv", "chess"])
def test_one_hot_columns_are_those_of_the_table(name):
    source = catalogue.entries()[name].downloads[0]
    assert source.feature_names == tuple(manifest.facts()[name]["feature_names"])


@pytest.mark.parametrize(
    "name, values", [("IndiansDiabetes", {0: "tested_negative", 1: "tested_positive"}),
                     ("default_credit", {0: "0", 1: "1"})]
)
def test_openml_recipes(shipped_files, monkeypatch, nothing_at_hand, name, values):
    import sklearn.datasets

    entry = catalogue.entries()[name]
    known = entry.read(shipped_files / entry.file)
    asked = {}

    def fetch_openml(**options):
        asked.update(options)
        target = np.array([values[label] for label in known.y], dtype=object)
        return SimpleNamespace(data=known.X, target=target)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    data = load(name)
    assert asked["data_id"] == {"IndiansDiabetes": 37, "default_credit": 42477}[name]
    assert asked["cache"] is False
    assert np.array_equal(data.X, known.X) and np.array_equal(data.y, known.y)
    assert load(name, download=False).y.tolist() == known.y.tolist()


def test_openml_with_unknown_classes_is_refused(monkeypatch):
    import sklearn.datasets

    bunch = SimpleNamespace(data=np.zeros((1, 2)), target=np.array(["?"]))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: bunch)
    with pytest.raises(DataError, match="not in the expected form"):
        OpenML(37, {"a": 0}).table()


# --- a server on this machine


class Server(ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.announce = {}
        self.asked = []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        if name not in self.server.files:
            self.send_error(404)
            return
        data = self.server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(self.server.announce.get(name, len(data))))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


TEXT = "1,2.5,a\n3,-0.5,b\n4,0.25,b\n"
TABLE = Table(np.array([[1, 2.5], [3, -0.5], [4, 0.25]]), np.array([0, 1, 1]))


@pytest.fixture
def entry(server, nothing_at_hand, monkeypatch):
    """A data set of three rows whose source is the server's ``toy.csv``."""
    made = catalogue.Entry(
        name="group/toy",
        kinds=("uci",),
        description="toy",
        source="toy",
        licence="none",
        citation="none",
        file="group/toy.csv.gz",
        downloads=(Delimited(server.address + "toy.csv", classes={"a": 0, "b": 1}),),
    )
    facts = {"feature_names": None, "target_names": ["a", "b"], **manifest.measure(TABLE)}
    monkeypatch.setitem(manifest.facts(), made.name, facts)
    monkeypatch.setitem(catalogue.entries(), made.name, made)
    monkeypatch.setitem(catalogue._spellings(), made.name, made.name)
    server.files["toy.csv"] = TEXT.encode()
    return made


def kept(folder) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_set_is_fetched_once_and_then_read_from_the_cache(
    entry, server, nothing_at_hand, capsys
):
    first = load("group/toy")
    assert np.array_equal(first.X, TABLE.X) and np.array_equal(first.y, TABLE.y)
    assert first.feature_names == ("x0", "x1") and first.target_names == ("a", "b")
    assert "fetching group/toy from" in capsys.readouterr().err
    assert kept(nothing_at_hand) == ["group--toy.npz"]
    server.files.clear()
    assert np.array_equal(load("group/toy").X, TABLE.X)
    assert server.asked == ["toy.csv"]


def test_text_columns_survive_the_cache(nothing_at_hand, tmp_path):
    table = Table(np.array([["é", "b"], ["cc", ""]]), np.array([0, 1]))
    loading._keep(table, tmp_path / "deep" / "text.npz")
    assert loading._from_cache(tmp_path / "deep" / "text.npz").X.tolist() == table.X.tolist()


@pytest.mark.parametrize(
    "text, reason",
    [
        ("1,2.5,a\n3,-0.5,b\n", "rows should be 3 but is 2"),
        ("1,2.5,a\n3,-0.5,b\n4,0.26,b\n", "sha256"),
        ("1,2.5,a\n3,-0.5,b\n4,0.25\n", "rows differ in length"),
        ("1,2.5,a\n3,-0.5,b\n4,0.25,c\n", "expected form"),
        ("<html>Not here any more</html>\n", "expected form"),
        ("", "expected form"),
    ],
)
def test_a_wrong_file_is_refused_and_never_kept(entry, server, nothing_at_hand, text, reason):
    server.files["toy.csv"] = text.encode()
    with pytest.raises(DataError) as caught:
        load("group/toy")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert kept(nothing_at_hand) == []


def test_a_download_that_ends_early_is_refused(entry, server, nothing_at_hand):
    server.announce["toy.csv"] = len(TEXT) + 10
    with pytest.raises(DataError, match="ended after|IncompleteRead|incomplete"):
        load("group/toy")
    assert kept(nothing_at_hand) == []


def test_no_answer_says_what_to_do(entry, server, nothing_at_hand):
    server.files.clear()
    with pytest.raises(FileNotFoundError, match="404") as caught:
        load("group/toy")
    assert "ODTLIB_DATA" in str(caught.value) and "group/toy.csv.gz" in str(caught.value)
    assert kept(nothing_at_hand) == []


def test_sources_are_tried_in_order(entry, server, monkeypatch):
    gone = replace(entry.downloads[0], url=server.address + "gone.csv")
    wrong = replace(entry.downloads[0], url=server.address + "wrong.csv")
    server.files["wrong.csv"] = b"1,2,a\n"
    monkeypatch.setitem(
        catalogue.entries(), entry.name, replace(entry, downloads=(gone, wrong, *entry.downloads))
    )
    assert np.array_equal(load(entry.name).y, TABLE.y)
    assert server.asked == ["gone.csv", "wrong.csv", "toy.csv"]


def test_a_set_without_source_says_so(entry, monkeypatch):
    monkeypatch.setitem(catalogue.entries(), entry.name, replace(entry, downloads=()))
    with pytest.raises(FileNotFoundError, match="no source on the network"):
        load(entry.name)


def test_download_false_asks_nobody(entry, server):
    with pytest.raises(FileNotFoundError, match="odt data fetch group/toy"):
        load(entry.name, download=False)
    assert server.asked == []


def test_a_spoilt_cache_file_is_refused(entry, nothing_at_hand):
    load(entry.name)
    path = nothing_at_hand / "group--toy.npz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="cannot be read"):
        load(entry.name)
    np.savez(path, X=TABLE.X + 1, y=TABLE.y)
    with pytest.raises(DataError, match="sha256"):
        load(entry.name)


def test_an_interrupted_write_leaves_nothing(entry, nothing_at_hand, monkeypatch):
    def fail(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(loading.np, "savez_compressed", fail)
    with pytest.raises(KeyboardInterrupt):
        load(entry.name)
    assert kept(nothing_at_hand) == []


def test_only_http_is_asked(tmp_path):
    path = tmp_path / "toy.csv"
    path.write_text(TEXT)
    with pytest.raises(DataError, match="not an http"):
        fetch.download(path.as_uri())


def test_large_downloads_are_refused(entry, server):
    with pytest.raises(DataError, match="is larger than"):
        replace(entry.downloads[0], limit=8).table()


def test_an_archive_in_an_archive(entry, server, monkeypatch):
    inner = zipped(**{"a/toy.csv": TEXT})
    server.files["toy.zip"] = zipped(**{"inner.zip": inner})
    source = replace(
        entry.downloads[0], url=server.address + "toy.zip", members=("inner.zip", "a/toy.csv")
    )
    assert np.array_equal(source.table().X, TABLE.X)


# --- archives


OUTSIDE = ["../evil.csv", "/etc/evil", "a/../../evil", "..\\evil", "C:\\evil", "\\evil"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_zip_members_outside_the_folder_are_refused(name):
    with pytest.raises(DataError, match="outside its folder"):
        read_member(zipped(**{"toy.csv": TEXT, name: "x"}), "toy.csv")


@pytest.mark.parametrize("name", OUTSIDE)
def test_tar_members_outside_the_folder_are_refused(name):
    data = tarred((tarfile.TarInfo("toy.csv"), TEXT.encode()), (tarfile.TarInfo(name), b"x"))
    with pytest.raises(DataError, match="outside its folder"):
        read_member(data, "toy.csv")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_tar_links_and_devices_are_refused(kind):
    link = tarfile.TarInfo("link")
    link.type, link.linkname = kind, "../../secret"
    data = tarred((tarfile.TarInfo("toy.csv"), TEXT.encode()), (link, b""))
    with pytest.raises(DataError, match="links or devices"):
        read_member(data, "toy.csv")
    link.name = "toy.csv"  # hidden by a later file of the same name
    data = tarred((link, b""), (tarfile.TarInfo("toy.csv"), TEXT.encode()))
    with pytest.raises(DataError, match="links or devices"):
        read_member(data, "toy.csv")


def test_good_archives_are_read():
    assert read_member(zipped(**{"toy.csv": TEXT}), "toy.csv") == TEXT.encode()
    data = tarred((_folder("folder"), b""), (tarfile.TarInfo("folder/toy.csv"), TEXT.encode()))
    assert read_member(data, "folder/toy.csv") == TEXT.encode()


def test_damaged_archives_are_refused():
    content = np.random.default_rng(0).bytes(9999)
    archive = zipped(**{"toy.csv": content})
    for data, lengths in (
        (archive, (0, 10, len(archive) // 2, len(archive) - 1)),
        (tarred((tarfile.TarInfo("toy.csv"), content)), (0, 10, 5000, 9999)),
    ):
        assert read_member(data, "toy.csv") == content
        for length in lengths:
            with pytest.raises(DataError, match="damaged"):
                read_member(data[:length], "toy.csv")
    flipped = bytearray(archive)
    flipped[45] ^= 0xFF
    with pytest.raises(DataError):
        read_member(bytes(flipped), "toy.csv")


def with_method(archive: bytes, flags: int, method: int) -> bytes:
    """The archive of one member, with other flags and another compression in both its headers."""
    changed = bytearray(archive)
    for header, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = changed.index(header) + place
        changed[at : at + 4] = flags.to_bytes(2, "little") + method.to_bytes(2, "little")
    return bytes(changed)


def spoilt(archive: bytes) -> bytes:
    """The archive of one member ``toy.csv``, whose content is overwritten."""
    at = archive.index(b"toy.csv") + len("toy.csv") + 9  # behind LZMA's own header
    return archive[:at] + b"\xff" * 8 + archive[at + 8 :]


@pytest.mark.parametrize(
    "data, reason",
    [
        (with_method(zipped(**{"toy.csv": TEXT}), 1, zipfile.ZIP_DEFLATED), "is encrypted"),
        (with_method(zipped(**{"toy.csv": TEXT}), 0, 97), "compression"),
        (with_method(zipped(**{"toy.csv": TEXT}), 0, zipfile.ZIP_LZMA), "unknown form"),
        (spoilt(zipped(method=zipfile.ZIP_LZMA, **{"toy.csv": TEXT})), "unknown form"),
        (tarred((_folder("toy.csv"), b"")), "is a folder"),
    ],
    ids=["encrypted", "unknown compression", "wrong compression", "spoilt LZMA", "folder"],
)
def test_archives_that_cannot_be_read_are_refused(data, reason):
    with pytest.raises(DataError, match=reason) as caught:
        read_member(data, "toy.csv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", ["abc", "1.5", "-3", "²"])
def test_an_announced_length_that_is_no_number_is_refused(entry, server, length):
    server.announce["toy.csv"] = length
    with pytest.raises(DataError, match="is not a number"):
        load(entry.name)


@pytest.mark.parametrize("name", ["toy", "rows"])
def test_a_cell_that_is_too_long_is_refused(entry, server, monkeypatch, name, capsys):
    from odtbook.cli import main

    server.files["toy.csv"] = b'1,"' + b"x" * 200_000 + b'",a\n'
    source = entry.downloads[0]
    if name == "rows":
        source = fetch.Rows(source.url, read=lambda rows: TABLE)
    monkeypatch.setitem(catalogue.entries(), entry.name, replace(entry, downloads=(source,)))
    with pytest.raises(DataError, match="field larger than field limit"):
        load(entry.name)
    assert main(["data", "fetch", entry.name]) == 1
    assert "failed   group/toy" in capsys.readouterr().err


def test_a_missing_member_and_a_bomb_are_refused():
    with pytest.raises(DataError, match="has no member"):
        read_member(zipped(**{"other.csv": TEXT}), "toy.csv")
    with pytest.raises(DataError, match="is larger than"):
        read_member(zipped(**{"toy.csv": "0" * 100_000}), "toy.csv", 1000)


def tar_of_zeros(form: str, megabytes: int) -> bytes:
    """A packed tar with one large member of zeros before the one that is wanted."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{form}") as archive:
        for name, size in (("first", megabytes << 20), ("toy.csv", 10)):
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))
    return buffer.getvalue()


@pytest.mark.parametrize("form", ["gz", "bz2", "xz"])
def test_what_a_tar_unpacks_on_the_way_to_its_member_is_bounded(form):
    bomb = tar_of_zeros(form, 40)
    assert len(bomb) < 100_000
    assert read_member(bomb, "toy.csv") == bytes(10)
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(DataError, match="the archive unpacks to more than 2 MB"):
        read_member(bomb, "toy.csv", 2 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20 and time.process_time() - began < 1


def test_a_hole_in_a_tar_counts_with_its_size():
    info = tarfile.TarInfo("toy.csv")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"00000000000\0".replace(b"0", b"7")     # the size with its holes
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    with pytest.raises(DataError):
        read_member(bytes(header) + bytes(1024), "toy.csv", 2 << 20)


def test_the_catalogue_bounds_every_source():
    limits = [source.limit for entry in catalogue.entries().values()
              for source in entry.downloads if isinstance(source, Delimited)]
    assert limits and all(2**24 < limit <= tables.LARGEST for limit in limits)
    assert sorted(limits)[len(limits) // 2] < 2**25


def test_packed_files_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LARGEST", 1 << 20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,target\n" + b"1,1\n" * (1 << 19)))
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1 << 10, 1 << 10)), y=np.zeros(1 << 10))
    for read, name in ((tables.numeric_csv, "a.csv.gz"), (tables.read_rows, "a.csv.gz"),
                       (tables.arrays, "a.npz")):
        with pytest.raises(DataError, match="unpacks to more than 1 MB"):
            read(tmp_path / name)


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_archive_is_read_as_it_was_or_refused(seed):
    rng = random.Random(seed)
    content = bytes(rng.choices(b"0123456789,\n", k=3000))
    info = tarfile.TarInfo("toy.csv")
    info.size = len(content)
    for whole in (zipped(**{"toy.csv": content}), tarred((info, content))):
        for _ in range(5):
            raw = bytearray(whole)
            at = rng.randrange(len(raw))
            if rng.random() < 0.3:
                del raw[at:at + rng.choice([1, 30, len(raw)])]
            else:
                raw[at] = rng.randrange(256)
            try:
                found = read_member(bytes(raw), "toy.csv")
            except DataError as error:
                assert len(str(error)) < 400
            else:
                assert found == content


def test_binary_rubbish_is_not_text(entry, server, nothing_at_hand):
    server.files["toy.csv"] = bytes(range(128, 256))
    with pytest.raises(DataError, match="is not text"):
        load(entry.name)
    assert kept(nothing_at_hand) == []


def test_every_source_is_an_https_address():
    for entry in catalogue.entries().values():
        for source in entry.downloads:
            assert source.url.startswith("https://")
            assert " " not in source.url
