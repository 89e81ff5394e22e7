"""Twenty-odd ugly tables: what people's files look like, and what their report must say."""

import gzip
import io
import zipfile
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass
class Ugly:
    """A table, its target, words that its report must hold, and what becomes of its columns."""

    name: str
    content: object             # bytes of a file, or a data frame
    target: str
    words: tuple = ()
    dropped: tuple = ()
    kinds: dict | None = None
    ending: str = ".csv"
    task: str = "classification"
    usable: bool = True
    rows: int | None = None


def plain(n=240, seed=0):
    """A table without faults: sick where (age > 50) xor male, one label in ten wrong."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 80, n), "dose": rng.normal(5, 2, n).round(2),
                          "sex": rng.choice(["male", "female"], n)})
    sick = (frame["age"] > 50) ^ (frame["sex"] == "male") ^ (rng.random(n) < 0.1)
    return frame.assign(label=np.where(sick, "sick", "well"))


def text(frame, **options):
    return frame.to_csv(index=False, **options).encode()


def tables():
    """Return all of them."""
    rng = np.random.default_rng(1)
    base = plain()
    n = len(base)
    every = [Ugly("plain", text(base), "label", ("240 rows", "3 features", "2 classes"))]

    def add(*given, **options):
        every.append(Ugly(*given, **options))

    add("semicolons and decimal commas", text(base, sep=";", decimal=","), "label",
        ("semicolons", "decimal commas"), kinds={"dose": "number"})
    add("tabs", text(base, sep="\t"), "label", ("tabs",), ending=".tsv")
    long = base.rename(columns={"age": "Donaudampfschifffahrtsgesellschaft" * 2}).assign(
        label=base["label"].map({"sick": "certainly_not_in_good_health_at_all", "well": "w" * 50}))
    add("long words", text(long), "label", ("240 rows",))
    add("byte order mark", b"\xef\xbb\xbf" + text(base), "label", ("byte order mark",))
    towns = base.assign(town=rng.choice(["Köln", "Zürich", "Málaga", "Genève"], n))
    add("Latin-1", towns.to_csv(index=False, sep=";").encode("latin-1"), "label", ("not UTF-8",),
        kinds={"town": "category"})
    add("UTF-16", towns.to_csv(index=False).encode("utf-16"), "label", ("UTF-16",))
    amounts = base.assign(amount=[f"{a:,.2f}" for a in rng.uniform(500, 90000, n)],
                          share=[f"{a:.0f}%" for a in rng.uniform(0, 100, n)])
    add("thousands and per cent", text(amounts), "label",
        ("commas between thousands", "the unit '%' left out"),
        kinds={"amount": "number", "share": "number"})
    german = base.assign(price=[f"{a:.2f}".replace(".", ",") for a in rng.uniform(1, 9, n)],
                         sum=[f"{a:,}".replace(",", ".") for a in rng.integers(1000, 99000, n)])
    add("points between thousands", text(german, sep=";"), "label",
        ("decimal commas", "points between thousands"), kinds={"sum": "number"})
    dated = base.assign(customer_id=rng.permutation(n) + 10_000,
                        visit=[f"2023-{m:02d}-{d:02d}" for m, d in
                               zip(rng.integers(1, 13, n), rng.integers(1, 29, n))],
                        token=[f"u{a:08x}" for a in rng.integers(0, 2**32, n)])
    add("identifiers and dates", text(dated), "label", ("days since 2023", "identifies the row"),
        dropped=("customer_id", "token"), kinds={"visit": "date"})
    add("an index column", base.to_csv().encode(), "label", ("numbers the rows",),
        dropped=("column1",))
    again = base.assign(version=3, empty="", copy=base["age"],
                        gender=base["sex"].map({"male": "m", "female": "f"}))
    add("constant, empty and repeated columns", text(again), "label",
        ("in every row", "no value in any row", "says the same as"),
        dropped=("version", "empty", "copy", "gender"))
    holes = base.astype(object)
    for j, mark in enumerate(["?", "NA", "-"]):
        holes.iloc[rng.choice(n, 30, replace=False), j] = mark
    holes.iloc[:3, 3] = ""
    add("gaps", text(holes), "label", ("30 gaps", "'?'", "3 rows without a value of 'label'"),
        kinds={"age": "number", "dose": "number"}, rows=n - 3)
    rare = base.assign(town=np.where(np.arange(n) < 9, [f"Ulm{i}" for i in range(n)], "Bern"))
    add("rare levels", text(rare), "label", ("9 values with fewer than 5 rows",))
    notes = base.assign(note=[f"the patient number {i} came in on a day with {a} others"
                              for i, a in enumerate(rng.integers(0, 99, n))])
    add("sentences", text(notes), "label", ("holds sentences",), dropped=("note",))
    add("a numeric target", text(base), "dose", ("regression",), task="regression")
    add("one class", text(base.assign(label="well")), "label", ("nothing to predict",),
        usable=False)
    add("no rows", text(base.head(0)), "label", ("no rows",), usable=False, rows=0)
    add("no features", text(base[["label"]]), "label", ("no column to predict",), usable=False)
    mess = text(base).decode().splitlines()
    mess[5] += ",surplus"
    mess[9] = "31,2.5"
    add("ragged rows and a title", "\n".join(["Export of 12 May", "", *mess]).encode(), "label",
        ("2 rows with more or fewer than 4 fields", "Export of 12 May"), rows=n - 2)
    rows = base.assign(zip=[f"{z:05d}" for z in rng.choice([1067, 1069, 4109, 9111], n)])
    add("zip codes and quotes", text(rows, quoting=1), "label", ("begin with 0",),
        kinds={"zip": "category"})
    add("rare fraud", text(base.assign(label=np.where(np.arange(n) % 60 == 0, "fraud", "fine"))),
        "label", ("fewer than five rows",))
    add("sentinels and hostile names", text(
        base.assign(**{"<b>&\"x\"": np.where(rng.random(n) < .1, -999, rng.integers(0, 9, n)),
                       "a, b": rng.integers(0, 5, n), "{y}": rng.choice(["<i>", "&amp;"], n)})),
        "label", ("holds -999",))
    add("zipped, names twice", gzip.compress(
        text(base).replace(b"dose", b"age", 1)), "label", ("more than one column",),
        ending=".csv.gz")
    add("few rows", text(base.head(14)), "label", ("very few",))
    add("no names", text(base, header=False).replace(b"male", b"1").replace(b"fe1", b"2")
        .replace(b"sick", b"1").replace(b"well", b"0"), "column4", ("numbers only",))
    nullable = base.convert_dtypes()
    nullable.loc[:9, "age"] = pd.NA
    nullable["sex"] = nullable["sex"].astype("category")
    nullable["old"] = (base["age"] > 60).astype("boolean")
    nullable["seen"] = pd.date_range("2024-01-01", periods=n, tz="Europe/Berlin")
    add("nullable types", nullable, "label", ("10 gaps", "days since 2024-01-01"),
        kinds={"age": "number", "sex": "category", "old": "number", "seen": "date"})
    many = base.assign(label=[f"c{i % 120}" for i in range(n)])
    add("as many classes as rows allow", text(many), "label",
        ("fewer than five rows of 120 classes",))
    return every + more_tables(rng, base, n) + hostile_files(rng, base) + more_kinds(rng, base, n)


def more_tables(rng, base, n):
    """Return files of other programs, and values that are no plain numbers."""
    every = []

    def add(*given, **options):
        every.append(Ugly(*given, **options))

    add("Excel's line of the separator", b"sep=;\r\n" + text(base[["age", "label"]], sep=";"),
        "label", ("says that the separator is ';'",), kinds={"age": "number"})
    add("UTF-16 without a mark", base.to_csv(index=False, sep=";").encode("utf-16-le"), "label",
        ("no byte order mark",))
    add("vertical bars, also in fields", text(base.assign(
        where=rng.choice(["a|b", "c"], n)), sep="|"), "label", ("vertical bars",),
        kinds={"where": "category"})
    add("single quotes", text(base, quotechar="'", quoting=1), "label", ("single quotes",),
        kinds={"age": "number"})
    add("backslashes before quotes", text(
        base.assign(said=rng.choice(['"hi", x', "no"], n)), doublequote=False, escapechar="\\"),
        "label", ("with a backslash",), kinds={"said": "category"})
    add("columns of a printed table", base.to_string(index=False).encode(), "label",
        ("separated by blanks",), kinds={"dose": "number"}, ending=".txt")
    add("lines of an old Macintosh, zero bytes", text(base).replace(b"\n", b"\r").replace(
        b"male", b"ma\x00le", 3), "label", ("3 zero bytes",), kinds={"sex": "category"})
    add("lines in quotes", text(base.rename(columns={"dose": "dose\n(mg)"}).assign(
        remark=rng.choice(["one\r\ntwo, three", "four"], n))), "label", ("4 features",),
        kinds={"dose (mg)": "number", "remark": "category"})
    days = pd.to_datetime("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    add("dates of two kinds and words", text(base.assign(
        day=[day.strftime("%Y-%m-%d" if i % 2 else "%d.%m.%Y") if i % 8 else "unknown"
             for i, day in enumerate(days)])), "label",
        ("year-month-day and day first", "30 cells with 'unknown'"), kinds={"day": "date"})
    add("times of day and errors of a sheet", text(base.assign(
        at=[f"{a}:{b:02d}" for a, b in zip(rng.integers(0, 24, n), rng.integers(0, 60, n))],
        rate=rng.choice(["3.5", "4", "#REF!", "#NAME?"], n))), "label",
        ("read as hours", "'#REF!'"), kinds={"at": "number", "rate": "number"})
    add("a target of three numbers", text(base.assign(label=rng.choice([0.5, 1, 1.5], n))), "label",
        ("3 different numbers", "read as 3 classes"))
    add("one value and gaps", text(base.assign(
        flag=np.where(rng.random(n) < .3, 1.0, np.nan),
        word=np.where(rng.random(n) < .3, "x", None))), "label", ("gaps in 240 rows",),
        kinds={"flag": "number", "word": "category"})
    add("columns of a sheet without names, names by case", b"," + text(
        base.assign(Age=rng.integers(0, 9, n))).replace(b"\n", b"\n7.5,")[:-4], "label",
        ("Column 1 has no name", "is 7.5 in every row"), dropped=("column1",),
        kinds={"Age": "number"})
    add("words for yes and no, a sum below", text(base.assign(
        smoker=rng.choice(["yes", "no", "Yes"], n), ok=rng.random(n) < .5))
        + b"Total,1200.0,,,,\n", "label", ("1 row without a value",),
        kinds={"smoker": "category", "ok": "category"}, rows=n)
    add("types of pandas", base.assign(
        span=pd.to_timedelta(rng.integers(0, 99, n), "h"), month=pd.PeriodIndex(days, freq="M"),
        group=pd.cut(base["age"], [0, 30, 50, 90]), day=[day.date() for day in days],
        old=pd.array(base["age"] > 60, "boolean")), "label",
        ("spans of time", "days since 2023-01-01"),
        kinds={"span": "number", "month": "date", "group": "category", "day": "date",
               "old": "number"})
    return every


def hostile_files(rng, base):
    """Return files whose lines, quotes, names or packing are not what a reader expects."""
    n, whole = len(base), text(base)
    names, lines = whole.split(b"\n", 1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inner/a.csv", whole)
    cells = [" | ".join(map(str, row)) for row in base.itertuples(index=False)]
    ruled = "\n".join(f"| {row} |" for row in ["age | dose | sex | label", "---|---|---|---",
                                              *cells])
    gap = base["label"].where(rng.random(n) < .8, None)
    large = 2**53 + rng.integers(0, 3, n).astype(object)
    two = base.drop_duplicates("label").head(2)
    return [Ugly(*given, **options) for *given, options in [
        ("names once more", whole + whole, "label", ("1 line with the names once more",),
         {"rows": 2 * n}),
        ("no names, words too", lines, "column4", ("values such as those below",), {"rows": n}),
        ("a separator behind each row", names + b"\n" + lines.replace(b"\n", b",\n"), "label",
         ("240 rows with a separator behind",), {"rows": n}),
        ("a quote left open", whole.replace(b"female", b'"female', 1), "label",
         ("opened and not closed",), {"rows": n}),
        ("a table of Markdown", ruled.encode(), "label", ("dashes alone",),
         {"rows": n, "dropped": ("column1",), "kinds": {"age": "number"}}),
        ("UTF-32", base.to_csv(index=False).encode("utf-32"), "label", ("UTF-32",), {"rows": n}),
        ("packed with zip", packed.getvalue(), "label", ("'inner/a.csv' of the archive",),
         {"ending": ".zip", "rows": n}),
        ("comments", b"# made, by x\n" + whole.replace(b"\n", b"\n# note\n", 2), "label",
         ("# made, by x", "2 rows with more or fewer"), {"rows": n}),
        ("emoji and signs in names", text(base.rename(columns={"age": "\U0001f600 <age>"}).assign(
            **{"caf\u00e9 %": rng.choice(["\U0001f436", "\U0001f431"], n)})), "label",
         ("4 features",),
         {"kinds": {"\U0001f600 <age>": "number", "caf\u00e9 %": "category"}}),
        ("classes by case, gaps in the target", text(base.assign(label=np.where(
            rng.random(n) < .1, gap.str.upper(), gap))), "label",
         ("capital letters alone", "rows without a value"), {}),
        ("classes that are large numbers", text(base.assign(label=large)), "label",
         ("too large to be told apart",), {"rows": n}),
        ("classes that are floats", text(base.assign(label=rng.choice([1.0, 2.0], n))), "label",
         ("2 classes",), {"rows": n}),
        ("euros with thousands", text(base.assign(pay=[f"\u20ac{a:,}" for a in rng.integers(
            500, 99999, n)])), "label", ("commas between thousands",),
         {"kinds": {"pay": "number", "dose": "number"}}),
        ("two rows", text(two), "label", (), {"usable": False, "rows": 2, "dropped": tuple(
            name for name in two.columns if two[name].nunique() < 2)}),
        ("one row", text(base.head(1)), "label", ("no column to predict",),
         {"usable": False, "rows": 1, "dropped": ("age", "dose", "sex")}),
    ]]


def more_kinds(rng, base, n):
    """Return tables with cells and shapes that look like something else than they are."""
    def among(*cells):
        return rng.choice(np.array(cells, object), n)

    nested = base.assign(
        tags=[["a", "b"][:k] for k in rng.integers(0, 3, n)],
        place=[{"lat": int(a), "lon": 3} for a in rng.integers(0, 4, n)],
        old=base["age"] > 50)
    wide = base.join(pd.DataFrame(rng.integers(0, 3, (n, 400))).add_prefix("w"))[
        [*(f"w{j}" for j in range(400)), *base.columns]]
    lines = text(base).split(b"\n")
    notes = ["one, two, three\nfour, five, six\nseven, eight, nine\nten, 11, 12", "none so far"]
    shuffled = base[["label", "dose", "age", "sex"]]
    return [Ugly(*given, **options) for *given, options in [
        ("two lines of names", b"patient,,,outcome\n" + text(base), "label",
         ("1 line above the row of names is left out: 'patient outcome'",),
         {"rows": n, "kinds": {"age": "number", "sex": "category"}}),
        ("a line of units under the names", b"\n".join([lines[0], b"years,mg,,", *lines[1:]]),
         "label", ("1 row without a value",),
         {"rows": n, "kinds": {"age": "number", "dose": "number"}}),
        ("amounts in two currencies", text(base.assign(
            pay=[f"{sign}{a}" for sign, a in zip(among("$", "\u20ac"), rng.integers(5, 30, n))],
            rate=[f"{a}%" if a % 2 else f"{a}" for a in rng.integers(0, 50, n)])), "label",
         ("different signs or words ('$', '\u20ac')", "the unit '%' left out, which not all"),
         {"kinds": {"pay": "category", "rate": "number"}}),
        ("genes by case, words in other languages", text(base.assign(
            gene=among("AA", "Aa", "aa"), smoker=among("ja", "nein"), malade=among("oui", "non"),
            known=among("Ja", "JA", "Nein", "nein"))), "label",
         ("capital letters alone",),
         {"kinds": dict.fromkeys(["gene", "smoker", "malade", "known"], "category")}),
        ("grades, some of them words", text(base.assign(
            visits=among("0", "1", "2", "3 or more"), floor=among("1", "2", "EG", "DG"))), "label",
         ("and words in the others ('3 or more')", "('DG', 'EG')"),
         {"kinds": {"visits": "category", "floor": "category"}}),
        ("lists and records", nested, "label",
         ("holds lists or records", "true and false, read as 1 and 0"),
         {"kinds": {"tags": "category", "place": "category", "old": "number"}}),
        ("hundreds of columns", text(wide), "label", ("403 features",), {"rows": n}),
        ("the target first, gaps as ?, -, n/a", text(shuffled.astype(object).mask(
            rng.random(shuffled.shape) < .1, rng.choice(["?", "-", "n/a"], shuffled.shape))),
         "label",
         ("some written '?'", "rows without a value of 'label'"), {"kinds": {"dose": "number"}}),
        ("notes of several lines in quotes", text(base.assign(note=among(*notes))), "label",
         ("4 features",), {"rows": n, "kinds": {"note": "category"}}),
        ("names that repeat as pandas would number them", text(base.assign(**{
            "x.2": base["age"] % 7, "x": base["age"] % 5, "x.3": base["age"] % 3})).replace(
                b"dose", b"x", 1), "label", ("more than one column",),
         {"kinds": {"x": "number", "x.2": "number", "x.3": "number", "x.4": "number"}}),
        ("letters that are none", b"\xff\xfe" + base.to_csv(index=False).encode("utf-16-le")
         + b"x", "label", ("1 letter could not be read", "1 row with more or fewer"), {"rows": n}),
        ("hosts, codes and versions", text(base.assign(
            host=among("10.0.0.1", "10.0.0.22", "192.168.1.7"), code=among("A-001", "B-017"),
            build=among("1.2.3", "1.10.0"), zip=among("01067", "90210"))), "label",
         ("begin with 0",),
         {"kinds": dict.fromkeys(["host", "code", "build", "zip"], "category")}),
        ("days with zones", base.assign(at=pd.date_range(
            "2024-01-01", periods=n, freq="7h", tz="America/New_York")), "label",
         ("times of America/New_York",), {"kinds": {"at": "date"}}),
    ]]


def arrow(frame):
    """Return a frame with columns of Arrow's types."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    buffer.seek(0)
    return pd.read_parquet(buffer, dtype_backend="pyarrow")
