"""The catalogue: every data set, where it comes from, and how to make, read or fetch it.

Only facts that a person wrote down are here; what can be measured (rows, class counts, names,
checksum) is in ``data/manifest.json``, which ``python -m odtbook.write_manifest`` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from odtlib.datasets import constrained_stand_ins, generators, tables
from odtlib.datasets.fetch import Delimited, OpenML, Rows
from odtlib.datasets.tables import Table

KINDS = {
    "shipped": "comes with the project: generated, or a file of its folder data/sets",
    "generated": "needs no file: made by rule, or part of scikit-learn",
    "small": "the 14 small tables of Verwer & Zhang, Firat et al. and Patel et al.",
    "large": "the 6 large tables of Firat et al. and Patel et al.",
    "uci": "further tables that MurTree's sets were made from",
    "murtree": "the 0/1 tables of Demirović et al. (MurTree)",
    "continuous": "the tables of Briţa et al. (ConTree)",
    "constrained": "the tables of Birbil et al. (output-constrained trees)",
}
TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue."""

    name: str
    kinds: tuple[str, ...]
    description: str
    source: str
    licence: str
    citation: str
    make: Callable[[], Table] | None = None  # generated sets
    file: str | None = None  # in data/sets where it is shipped, and in the folder of ODTLIB_DATA
    read: Callable[[Path], Table] | None = None
    downloads: tuple = ()  # tried in order
    task: str = "classification"
    target_names: tuple[str, ...] | None = None  # where the file does not name its classes
    splits: str = "rule"  # or "published rule", "published rows", "missing"
    aliases: tuple[str, ...] = ()


_UCI = "https://archive.ics.uci.edu/static/public/"
_GITHUB = "https://raw.githubusercontent.com/"
_PATTERN = _GITHUB + "Aikann/DT-Project---Pattern-CG/460b9b4afcddb14b19fa12ad643e3c04e55236bd/"
_MURTREE = _GITHUB + "MurTree/murtree-data/65d54d14aabf40f58e8dc94db18b7b52b2ef291f/"
_CONTREE = _GITHUB + "ConSol-Lab/contree/0fe6b4d559b4e5fe3f627afbf2c3bd1204f85a6e/"
_OCDT_FIRST = _GITHUB + "sibirbil/OCDT/a1aa0fad40b0b907192d8b3218a278abb9b70861/"
_OCDT_LATER = _GITHUB + "sibirbil/OCDT/8e478931442ef71e05bb67841d966e3e8cbf5521/"

_UCI_LICENCE = "CC BY 4.0 (UCI Machine Learning Repository)"
_UCI_SETS = {  # by DOI, or address where none is known: creators and title
    "https://doi.org/10.24432/C56C76": "R. A. Fisher, Iris",
    "https://doi.org/10.24432/C5PC7J": "S. Aeberhard and M. Forina, Wine",
    "https://doi.org/10.24432/C5DW2B": "W. Wolberg, O. Mangasarian, N. Street and W. Street, "
    "Breast Cancer Wisconsin (Diagnostic)",
    "https://doi.org/10.24432/C50P49": "E. Alpaydin and C. Kaynak, Optical Recognition of "
    "Handwritten Digits",
    "https://doi.org/10.24432/C5488X": "R. Siegler, Balance Scale",
    "https://doi.org/10.24432/C5688J": "D. Aha, Tic-Tac-Toe Endgame",
    "https://doi.org/10.24432/C5JP48": "M. Bohanec, Car Evaluation",
    "https://doi.org/10.24432/C5R30R": "J. Wnek, MONK's Problems",
    "https://doi.org/10.24432/C55P57": "V. Lohweg, Banknote Authentication",
    "https://doi.org/10.24432/C5W01B": "V. Sigillito, S. Wing, L. Hutton and K. Baker, Ionosphere",
    "https://archive.ics.uci.edu/dataset/266/seismic+bumps": "M. Sikora and L. Wrobel, "
    "seismic-bumps",
    "https://doi.org/10.24432/C53G6X": "M. Hopkins, E. Reeber, G. Forman and J. Suermondt, "
    "Spambase",
    "https://doi.org/10.24432/C55887": "A. Srinivasan, Statlog (Landsat Satellite)",
    "https://doi.org/10.24432/C55S3H": "I. Yeh, Default of Credit Card Clients",
    "https://doi.org/10.24432/C5DK6R": "R. Lyon, HTRU2",
    "https://doi.org/10.24432/C5ZP40": "D. Slate, Letter Recognition",
    "https://doi.org/10.24432/C52C8B": "R. Bock, MAGIC Gamma Telescope",
    "https://doi.org/10.24432/C5WS31": "Statlog (Shuttle)",
    "https://doi.org/10.24432/C5K306": "S. Moro, P. Rita and P. Cortez, Bank Marketing",
    "https://doi.org/10.24432/C5H60M": "K. Mansouri, T. Ringsted, D. Ballabio, R. Todeschini and "
    "V. Consonni, QSAR biodegradation",
    "https://doi.org/10.24432/C5XP4P": "B. Antal and A. Hajdu, Diabetic Retinopathy Debrecen",
    "https://doi.org/10.24432/C5DK5C": "A. Shapiro, Chess (King-Rook vs. King-Pawn)",
    "https://doi.org/10.24432/C56S3T": "P. Cortez, A. Cerdeira, F. Almeida, T. Matos and J. Reis, "
    "Wine Quality",
}
_PAPERS = {
    "murtree": "E. Demirović, A. Lukina, E. Hebrard, J. Chan, J. Bailey, C. Leckie, "
    "K. Ramamohanarao and P. J. Stuckey (2022), MurTree: Optimal Decision Trees via Dynamic "
    "Programming and Search, Journal of Machine Learning Research 23",
    "dl85": "G. Aglin, S. Nijssen and P. Schaus (2020), Learning Optimal Decision Trees Using "
    "Caching Branch-and-Bound Search, AAAI 34",
    "binoct": "S. Verwer and Y. Zhang (2019), Learning Optimal Classification Trees Using a "
    "Binary Linear Program Formulation, AAAI 33",
    "sat": "N. Narodytska, A. Ignatiev, F. Pereira and J. Marques-Silva (2018), Learning Optimal "
    "Decision Trees with SAT, IJCAI",
    "osdt": "X. Hu, C. Rudin and M. Seltzer (2019), Optimal Sparse Decision Trees, NeurIPS 32",
    "contree": "C. E. Briţa, J. G. M. van der Linden and E. Demirović (2025), Optimal "
    "Classification Trees for Continuous Feature Data Using Dynamic Programming with "
    "Branch-and-Bound, AAAI 39",
    "constrained": "Ş. İ. Birbil, D. Özese and M. Baydoğan (2024), Output-Constrained Decision "
    "Trees, arXiv 2405.15314",
    "column generation": "K. K. Patel, G. Desaulniers and A. Lodi (2023), Revisiting "
    "Column-Generation-Based Matheuristic for Learning Classification Trees, Les Cahiers du "
    "GERAD G-2023-39",
}
_ROUNDED = " The papers' split files carry three decimals; rounded=True (default) gives those."


def _cite(address: str) -> str:
    return f"{_UCI_SETS[address]}, UCI Machine Learning Repository, {address}"


def _prepared(name: str, **options) -> Delimited:
    """The table as prepared in the repository from which the papers' tables were taken."""
    return Delimited(f"{_PATTERN}Instances/{name}.csv", delimiter=";", header=1, **options)


def _table(name, kinds, title, doi, description, *, folder="cg_splits", downloads=(), **fields):
    """A UCI table in the form of ``cg_splits``: a gzipped CSV file with the class last."""
    fields.setdefault("splits", "published rule" if "small" in kinds else "rule")
    fields.setdefault("licence", _UCI_LICENCE)
    if doi:
        fields["citation"] = _cite(f"https://doi.org/{doi}")
    return Entry(
        name=name,
        kinds=("shipped", *kinds) if fields.pop("shipped", True) else kinds,
        description=description,
        source=f"UCI Machine Learning Repository, {title}",
        file=f"{folder}/{name}.csv.gz",
        read=tables.numeric_csv,
        downloads=downloads,
        **fields,
    )


def _made(name, make, source, doi, description, *, small=False):
    """A generated set; ``small`` if it is one of the 14 small tables of the papers."""
    return Entry(
        name=name,
        kinds=("shipped", "generated", *(("small",) if small else ())),
        description=description,
        source=source,
        licence=_UCI_LICENCE,
        citation=_cite(f"https://doi.org/{doi}"),
        make=make,
        splits="published rule" if small else "rule",
    )


def _generated():
    scikit = "scikit-learn's copy of UCI Machine Learning Repository, "
    generated = "generated; equals UCI Machine Learning Repository, "
    entries = [
        _made(
            "iris",
            partial(generators.bundled, "load_iris"),
            scikit + "Iris, corrected to Fisher's article",
            "10.24432/C56C76",
            "150 flowers of three species, with the values of Fisher's article (1936), "
            "as scikit-learn has them. The papers used the UCI file: iris_uci.",
        ),
        _made(
            "iris_uci",
            generators.iris_uci,
            "UCI Machine Learning Repository, Iris, from scikit-learn's copy",
            "10.24432/C56C76",
            "Iris as the papers used it, the UCI file: rows 35 and 38 (counted from 1) "
            "are both 4.9, 3.1, 1.5, 0.1; in Fisher's article they are 4.9, 3.1, 1.5, 0.2 and "
            "4.9, 3.6, 1.4, 0.1.",
            small=True,
        ),
        _made(
            "wine",
            partial(generators.bundled, "load_wine"),
            scikit + "Wine",
            "10.24432/C5PC7J",
            "178 wines of three cultivars, 13 chemical measurements. Classes count "
            "from 0 (scikit-learn); the papers' file counts from 1." + _ROUNDED,
            small=True,
        ),
        _made(
            "breast_cancer",
            partial(generators.bundled, "load_breast_cancer"),
            scikit + "Breast Cancer Wisconsin (Diagnostic)",
            "10.24432/C5DW2B",
            "569 breast masses, 30 measurements of cell nuclei (WDBC). Not used by "
            "the papers.",
        ),
        _made(
            "digits",
            partial(generators.bundled, "load_digits"),
            scikit + "Optical Recognition of Handwritten Digits",
            "10.24432/C50P49",
            "1797 handwritten digits, 8 by 8 grey levels (test part of the UCI set). "
            "Not used by the papers.",
        ),
        _made(
            "balance-scale",
            generators.balance_scale,
            generated + "Balance Scale",
            "10.24432/C5488X",
            "All 625 combinations of two weights and two distances from 1 to 5; the "
            "class says which side is heavier.",
            small=True,
        ),
        _made(
            "tic-tac-toe",
            generators.tic_tac_toe,
            generated + "Tic-Tac-Toe Endgame",
            "10.24432/C5688J",
            "All 958 boards at which a game of tic-tac-toe that x began can end; the "
            "class says whether x has won. Two 0/1 columns a cell (o, x), as in the papers.",
            small=True,
        ),
        _made(
            "tic-tac-toe_boards",
            generators.tic_tac_toe_boards,
            generated + "Tic-Tac-Toe Endgame",
            "10.24432/C5688J",
            "The rows of tic-tac-toe with one nominal column (x, o, b) a cell, as in "
            "the UCI file.",
        ),
        _made(
            "car_evaluation",
            generators.car_evaluation,
            "generated; equals the papers' preparation of UCI Machine Learning Repository, "
            "Car Evaluation",
            "10.24432/C5JP48",
            "The 1728 cars in the papers' numbers. Lossy: safety med and high are both "
            "1, so that only 1152 feature vectors differ and contradictory rows exist; doors 5more "
            "is 56 and persons more is 5. The papers' tables say five features; there are six. "
            "The original is car.",
            small=True,
        ),
        _made(
            "car",
            generators.car,
            generated + "Car Evaluation",
            "10.24432/C5JP48",
            "All 1728 combinations of six nominal attributes, judged by the four-table "
            "model of Bohanec and Rajkovic (price, comfort, technical quality, car). Same rows, in "
            "the same order, as car_evaluation.",
        ),
    ]
    concepts = {
        1: "a1 = a2 or a5 = 1",
        2: "exactly two of the six attributes equal 1",
        3: "(a5 = 3 and a4 = 1) or (a5 is not 4 and a2 is not 3)",
    }
    noise = " The labels are the concept itself, without the noise that monk3 has in 6 rows."
    for problem, concept in concepts.items():
        entries.append(
            _made(
                f"monk{problem}_full",
                partial(generators.monk, problem),
                f"{generated}MONK's Problems, monks-{problem}.test",
                "10.24432/C5R30R",
                f"All 432 rows of the domain of monk's problem {problem}; class 1 when "
                f"{concept}.{noise if problem == 3 else ''}",
            )
        )
    return entries


def _papers():
    small, large = ("small",), ("large",)
    published = {"splits": "published rows"}
    letters = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    entries = [
        _table(
            "banknote",
            small,
            "Banknote Authentication",
            "10.24432/C55P57",
            "Four wavelet features of 1372 images of banknotes." + _ROUNDED,
            downloads=(
                Delimited(
                    _UCI + "267/banknote+authentication.zip", ("data_banknote_authentication.txt",)
                ),
                _prepared("banknote"),
            ),
        ),
        _table(
            "IndiansDiabetes",
            small,
            "Pima Indians Diabetes (withdrawn there; on OpenML as 37)",
            "",
            "768 women, eight measurements, diabetes within five years.",
            licence="CC0 as commonly distributed",
            citation="J. W. Smith, J. E. Everhart, W. C. Dickson, W. C. Knowler and R. S. "
            "Johannes (1988), Using the ADAP learning algorithm to forecast the onset of diabetes "
            "mellitus, Proceedings of the Symposium on Computer Applications and Medical Care, "
            "261-265",
            target_names=("negative", "positive"),
            downloads=(
                OpenML(37, {"tested_negative": 0, "tested_positive": 1}),
                _prepared("IndiansDiabetes"),
            ),
        ),
        _table(
            "Ionosphere",
            small,
            "Ionosphere",
            "10.24432/C5W01B",
            "351 radar returns, 34 features, good or bad." + _ROUNDED + " At depth 2 this changes "
            "the accuracies: the printed ones are those of the rounded values.",
            target_names=("bad", "good"),
            downloads=(
                Delimited(
                    _UCI + "52/ionosphere.zip", ("ionosphere.data",), classes={"b": 0, "g": 1}
                ),
                _prepared("Ionosphere"),
            ),
        ),
        _table(
            "seismic_bumps",
            small,
            "seismic-bumps",
            "",
            "2584 shifts in a coal mine; was there a strong bump in the next one? Letters are "
            "numbered in order.",
            citation=_cite("https://archive.ics.uci.edu/dataset/266/seismic+bumps"),
            target_names=("no bump", "bump"),
            downloads=(
                Delimited(
                    _UCI + "266/seismic+bumps.zip",
                    ("seismic-bumps.arff",),
                    levels={0: "ab", 1: "abcd", 2: "NW", 7: "abcd"},
                ),
                _prepared("seismic_bumps"),
            ),
        ),
        _table(
            "spambase",
            small,
            "Spambase",
            "10.24432/C53G6X",
            "4601 e-mails, 57 word and character frequencies and run lengths.",
            target_names=("not spam", "spam"),
            downloads=(
                Delimited(_UCI + "94/spambase.zip", ("spambase.data",)),
                _prepared("spambase"),
            ),
        ),
        _table(
            "Statlog_satellite",
            small,
            "Statlog (Landsat Satellite), training part",
            "10.24432/C55887",
            "4435 neighbourhoods of a satellite image, 9 pixels in 4 bands. Labels are 1, 2, 3, "
            "4, 5 and 7.",
            downloads=(
                Delimited(
                    _UCI + "146/statlog+landsat+satellite.zip", ("sat.trn",), delimiter=None
                ),
                _prepared("Statlog_satellite"),
            ),
        ),
        _table(
            "default_credit",
            large,
            "Default of Credit Card Clients",
            "10.24432/C55S3H",
            "30000 clients of a bank, 23 features; the class is the default flag. (The MurTree "
            "set made from it predicts the credit limit instead.)",
            target_names=("no default", "default"),
            downloads=(OpenML(42477, {"0": 0, "1": 1}), _prepared("default_credit")),
            **published,
        ),
        _table(
            "HTRU_2",
            large,
            "HTRU2",
            "10.24432/C5DK6R",
            "17898 pulsar candidates, eight statistics of the profile and the DM-SNR curve.",
            target_names=("no pulsar", "pulsar"),
            downloads=(
                Delimited(_UCI + "372/htru2.zip", ("HTRU_2.csv",)),
                _prepared("HTRU_2"),
            ),
            **published,
        ),
        _table(
            "letter_recognition",
            large,
            "Letter Recognition",
            "10.24432/C5ZP40",
            "20000 distorted letters, 16 measurements. Labels are 1 to 26.",
            target_names=letters,
            downloads=(
                Delimited(
                    _UCI + "59/letter+recognition.zip",
                    ("letter-recognition.data",),
                    target=0,
                    classes={letter: code for code, letter in enumerate(letters, start=1)},
                ),
                _prepared("letter_recognition"),
            ),
            **published,
        ),
        _table(
            "magic04",
            large,
            "MAGIC Gamma Telescope",
            "10.24432/C52C8B",
            "19020 simulated showers, ten image parameters, gamma (0) or hadron (1).",
            target_names=("gamma", "hadron"),
            downloads=(
                Delimited(
                    _UCI + "159/magic+gamma+telescope.zip",
                    ("magic04.data",),
                    classes={"g": 0, "h": 1},
                ),
                _prepared("magic04"),
            ),
            **published,
        ),
        _table(
            "Statlog_shuttle",
            large,
            "Statlog (Shuttle), training part (shuttle.trn)",
            "10.24432/C5WS31",
            "43500 states of a space shuttle's radiator, nine features. Labels are 1 to 7, four "
            "fifths of them 1.",
            downloads=(_prepared("Statlog_shuttle"),),
            **published,
        ),
        _table(
            "hand_posture",
            large,
            "MoCap Hand Postures",
            "",
            "78095 hand postures, 33 marker coordinates, five classes. The table and its five "
            "splits are in the repository of Patel et al. (krooonal/col_gen_estimator, folder "
            "examples/datasets/large_datasets/hand_posture); the copy of it that was to be had "
            "lists these files without their contents, and the papers do not say how UCI's 36 "
            "coordinates with missing values became 33. A file of your own is checked by its shape "
            "alone.",
            citation=_PAPERS["column generation"],
            splits="missing",
            shipped=False,
        ),
    ]
    for problem, rows in ((1, 124), (2, 169), (3, 122)):
        noise = " In 6 rows the label contradicts the concept: added noise." if problem == 3 else ""
        entries.append(
            _table(
                f"monk{problem}",
                small,
                f"MONK's Problems, monks-{problem}.train",
                "10.24432/C5R30R",
                f"The {rows} training rows of monk's problem {problem}, a subset of "
                f"monk{problem}_full.{noise}",
                downloads=(
                    Delimited(
                        _UCI + "70/monk+s+problems.zip",
                        (f"monks-{problem}.train",),
                        delimiter=None,
                        target=0,
                        drop=(7,),
                    ),
                    _prepared(f"monk{problem}"),
                ),
            )
        )
    return entries


_BANK_COLUMNS = {
    "job": "unemployed services management blue-collar self-employed technician entrepreneur "
    "admin. student housemaid retired unknown",
    "marital": "married single divorced",
    "education": "primary secondary tertiary unknown",
    "default": "no yes",
    "housing": "no yes",
    "loan": "no yes",
    "contact": "cellular unknown telephone",
    "month": "oct may apr jun feb aug jan jul nov sep mar dec",
    "poutcome": "unknown failure other success",
}
_BANK_FEATURES = (
    *"age balance day duration campaign pdays previous".split(),
    *(f"{value}_{column}" for column, values in _BANK_COLUMNS.items() for value in values.split()),
)
_CHESS_VALUES = {13: "gl", 15: "bnw", 36: "nt"}  # all other columns: f or t
_CHESS_FEATURES = tuple(
    f"Feat{j}_{value}" for j in range(1, 37) for value in _CHESS_VALUES.get(j, "ft")
)


def _further():
    raw = {"folder": "uci"}
    binarised = " MurTree's set of the same name was made from it."
    entries = [
        _table(
            "bank_conv",
            ("uci",),
            "Bank Marketing, bank.csv, one-hot coded",
            "10.24432/C5K306",
            "4521 phone calls of a bank; did the client subscribe?" + binarised,
            target_names=("no", "yes"),
            downloads=(
                Delimited(
                    _UCI + "222/bank+marketing.zip",
                    ("bank.zip", "bank.csv"),
                    delimiter=";",
                    header=1,
                    classes={"no": 0, "yes": 1},
                    one_hot="value_column",
                    feature_names=_BANK_FEATURES,
                ),
            ),
            **raw,
        ),
        _table(
            "biodeg",
            ("uci",),
            "QSAR biodegradation",
            "10.24432/C5H60M",
            "1055 chemicals, 41 molecular descriptors; ready biodegradable?" + binarised,
            target_names=("not ready biodegradable", "ready biodegradable"),
            downloads=(
                Delimited(
                    _UCI + "254/qsar+biodegradation.zip",
                    ("biodeg.csv",),
                    delimiter=";",
                    classes={"NRB": 0, "RB": 1},
                ),
            ),
            **raw,
        ),
        _table(
            "messidor",
            ("uci",),
            "Diabetic Retinopathy Debrecen",
            "10.24432/C5XP4P",
            "1151 images of eyes, 19 features; signs of diabetic retinopathy?" + binarised,
            target_names=("no signs", "signs"),
            downloads=(
                Delimited(
                    _UCI + "329/diabetic+retinopathy+debrecen.zip", ("messidor_features.arff",)
                ),
            ),
            **raw,
        ),
        _table(
            "chess",
            ("uci",),
            "Chess (King-Rook vs. King-Pawn), one-hot coded",
            "10.24432/C5DK5C",
            "3196 end games, 36 nominal attributes as 73 columns of 0 and 1; can white win?",
            target_names=("nowin", "won"),
            downloads=(
                Delimited(
                    _UCI + "22/chess+king+rook+vs+king+pawn.zip",
                    ("kr-vs-kp.data",),
                    classes={"nowin": 0, "won": 1},
                    one_hot="column_value",
                    feature_names=_CHESS_FEATURES,
                ),
            ),
            **raw,
        ),
    ]
    for colour, extra in (("red", binarised), ("white", "")):
        entries.append(
            _table(
                f"winequality-{colour}",
                ("uci",),
                f"Wine Quality ({colour})",
                "10.24432/C56S3T",
                f"{colour.capitalize()} vinho verde, eleven measurements; the class is the "
                f"tasters' grade.{extra}",
                downloads=(
                    Delimited(
                        _UCI + "186/wine+quality.zip",
                        (f"winequality-{colour}.csv",),
                        delimiter=";",
                        header=1,
                    ),
                ),
                **raw,
            )
        )
    return entries


# Members of each archive of murtree_binary; the folder is the one in the MurTree data repository.
_MURTREE_SETS = {
    "DL": "anneal audiology australian-credit breast-wisconsin diabetes german-credit "
    "heart-cleveland hepatitis hypothyroid ionosphere kr-vs-kp lymph mushroom pendigits "
    "primary-tumor segment soybean splice-1 tic-tac-toe vehicle vote yeast",
    "NL": "HTRU_2_categorical_bin IndiansDiabetes_categorical_bin Ionosphere_categorical_bin "
    "Statlog_satellite_categorical_bin balance-scale_categorical_bin bank_conv_categorical_bin "
    "banknote_categorical_bin biodeg_categorical_bin car_evaluation_categorical_bin "
    "default_credit_categorical_bin iris_categorical_bin magic04_categorical_bin "
    "messidor_categorical_bin monk1_bin monk2_bin monk3_bin seismic_bumps_categorical_bin "
    "spambase_categorical_bin tic-tac-toe_bin wine_categorical_bin winequality-red_categorical_bin",
    "Nina": "appendicitis-un_converted australian-un_converted backache-un_converted "
    "cancer-un_converted car-un_converted cleve-un_converted colic-un_converted "
    "corral-un_converted haberman-un_converted heart-statlog-un_converted "
    "hepatitis-un_converted house-votes-84-un_converted hungarian-un_converted "
    "irish-un_converted mouse-un_converted mux6-un_converted new-throid-un "
    "promoters-un_converted spect-un_converted",
    "Nina/reduced": "appendicitis-un-reduced_converted australian-un-reduced_converted "
    "backache-un-reduced_converted cancer-un-reduced_converted car-un-reduced_converted "
    "cleve-un-reduced_converted colic-un-reduced_converted corral-un-reduced_converted "
    "haberman-un-reduced_converted heart-statlog-un-reduced_converted "
    "hepatitis-un-reduced_converted hungarian-un-reduced_converted irish-un-reduced_converted "
    "mouse-un-reduced_converted mux6-un-reduced_converted promoters-un-reduced_converted "
    "shuttleM-un-reduced_converted spect-un-reduced_converted",
    "Hu": "compas-binary fico-binary",
}
_MURTREE_ORIGINS = {
    "DL": ("Aglin, Nijssen and Schaus (DL8.5; CP4IM)", "dl85"),
    "NL": ("Verwer and Zhang, binarised by MDLP", "binoct"),
    "Nina": ("Narodytska et al.", "sat"),
    "Nina/reduced": ("Narodytska et al., reduced", "sat"),
    "Hu": ("Hu, Rudin and Seltzer", "osdt"),
}
_MURTREE_NOTES = {
    "default_credit_categorical_bin": " It does not predict default: its four classes are the "
    "discretised credit limit (0: 10000-40000, 3: 50000-140000, 1: 150000-360000, "
    "2: 370000-1000000), and the default flag is its last feature.",
    "tic-tac-toe": " The boards of tic-tac-toe, three columns a cell in the order b, o, x.",
    "car_evaluation_categorical_bin": " Made from the papers' table, which merges two of the "
    "safety levels.",
}


def _murtree():
    entries = []
    for folder, members in _MURTREE_SETS.items():
        origin, paper = _MURTREE_ORIGINS[folder]
        rows = " Rows and labels are in the order of the raw table." if folder == "NL" else ""
        file = f"murtree_binary/{folder.replace('/', '_')}.npz"
        for member in members.split():
            entries.append(
                Entry(
                    name=f"murtree/{member}",
                    kinds=("shipped", "murtree"),
                    description=f"0/1 table from {origin}, as used for MurTree."
                    f"{_MURTREE_NOTES.get(member, '')}{rows}",
                    source=f"MurTree data repository, folder {folder}",
                    licence="MIT (MurTree/murtree-data)",
                    citation=f"{_PAPERS['murtree']}; {_PAPERS[paper]}",
                    file=file,
                    read=partial(tables.packed_bits, member=member),
                    downloads=(
                        Delimited(f"{_MURTREE}{folder}/{member}.txt", delimiter=None, target=0),
                    ),
                    aliases=(f"{folder}/{member}",),
                )
            )
    stand_ins = {
        "letter": (
            "DL_letter",
            "y26",
            "https://doi.org/10.24432/C5ZP40",
            "letter_recognition, up to seven equal-frequency cuts an attribute (columns x <= cut "
            "and x > cut). Labels are the 26 letters; the original's label is binary, one letter "
            "against the rest (813 positives would be U, label 21; not verified).",
        ),
        "Statlog_shuttle": (
            "NL_Statlog_shuttle",
            "y",
            "https://doi.org/10.24432/C5WS31",
            "Statlog_shuttle, MDLP bins one-hot coded.",
        ),
    }
    for name, (member, label, address, text) in stand_ins.items():
        entries.append(
            Entry(
                name=f"murtree/{name}_derived",
                kinds=("shipped", "murtree"),
                description="Stand-in for a MurTree set that was not to be had, not the original: "
                + text,
                source=f"computed from {text.split(',')[0]} by the rule that reproduces the sets "
                "that are there",
                licence=_UCI_LICENCE,
                citation=f"{_cite(address)}; {_PAPERS['murtree']}",
                file="murtree_binary/derived.npz",
                read=partial(tables.packed_bits, member=member, label=label),
                aliases=(f"derived/{member}",),
            )
        )
    return entries


def _continuous():
    names = (
        "avila bank bidding eeg fault htru magic occupancy page raisin rice room segment wilt"
    ).split()
    return [
        Entry(
            name=f"continuous/{name}",
            kinds=("shipped", "continuous"),
            description="Table of numeric features as prepared (some scaled) for ConTree.",
            source="ConTree repository, datasets; underlying source UCI Machine Learning "
            "Repository",
            licence="MIT (ConSol-Lab/contree)",
            citation=_PAPERS["contree"],
            file=f"continuous/{name}.npz",
            read=tables.arrays,
            downloads=(
                Delimited(f"{_CONTREE}datasets/{name}.txt", delimiter=None, target=0),
            ),
        )
        for name in names
    ]


def _series(name, member, names, archive, base, description):
    """One table of numbers with several targets, a member of an archive of the OCDT data."""
    n_features = 6
    return Entry(
        name=name,
        kinds=("constrained",),
        task="regression",
        description=description,
        source="repository sibirbil/OCDT, data",
        licence="not stated",
        citation=_PAPERS["constrained"],
        file=f"ocdt/{archive}.npz",
        read=partial(tables.member_targets, member=member, names=names, n_features=n_features),
        downloads=(
            Rows(f"{base}data/{member}.csv", partial(tables.number_rows, n_features=n_features)),
        ),
        aliases=(member,),
    )


def _grades(n_rows: int, n_courses: int) -> Table:
    from odtlib.datasets.constrained_generators import grades  # it needs this module

    data = grades(n_rows, n_courses)
    return Table(data.X, data.y, data.feature_names, data.target_names)


def _constrained():
    common = {
        "kinds": ("constrained",),
        "task": "regression",
        "licence": "not stated",
        "citation": _PAPERS["constrained"],
    }
    exam_source = "Royce Kimmons' generator of fictitious exam scores"
    entries = [
        Entry(
            name="scores",
            description="'scores' of the paper: 1000 pupils, five nominal features, scores in "
            "mathematics, reading and writing. Writing was set to 0 where reading is at most 50, "
            "then mathematics to 0 where reading and writing are together at most 110.",
            source=f"{exam_source}; altered by Birbil et al., repository sibirbil/OCDT",
            file="ocdt/scores_constrained_exams.csv.gz",
            read=partial(tables.from_rows, read=tables.exam_rows),
            downloads=(Rows(f"{_OCDT_FIRST}data/constrained_exams.csv", tables.exam_rows),),
            **common,
        ),
        Entry(
            name="scores_unconstrained",
            description="The rows of scores before any score was set to 0.",
            source=f"{exam_source}; repository sibirbil/OCDT (history)",
            file="ocdt/scores_exams.csv.gz",
            read=partial(tables.from_rows, read=tables.exam_rows),
            **common,
        ),
        Entry(
            name="scores_other_draw",
            description="Another thousand pupils from the same generator; not the paper's rows.",
            source=f"{exam_source}, as on Kaggle (Students Performance in Exams)",
            file="ocdt/scores_StudentsPerformance.csv.gz",
            read=partial(tables.from_rows, read=tables.exam_rows),
            downloads=(
                Rows(
                    f"{_GITHUB}HarryPrajapati/Students-Performance-in-Exams-Data-Scince-with-"
                    "Python-/9602a7165003503becbd320da587699e2af39262/StudentsPerformance.csv",
                    tables.exam_rows,
                ),
            ),
            **common,
        ),
    ]
    insurance = "car insurance claims (Kaggle; training data of the course DATA 621)"
    for name, first, text in (
        ("cars", 500, "'cars' of the paper: the first 500"),
        ("cars_full", None, "All 6045"),
    ):
        read = partial(tables.insurance_rows, first=first)
        entries.append(
            Entry(
                name=name,
                description=f"{text} complete rows of a file of 8161 insured drivers (INDEX and "
                "rows with an empty cell dropped), its 13 numeric features (amounts without $ and "
                "commas), and two targets: was there a claim, and its amount.",
                source=f"{insurance}; repository sibirbil/OCDT (history)",
                file="ocdt/cars_insurance.csv.gz",
                read=partial(tables.from_rows, read=read),
                downloads=(Rows(f"{_OCDT_FIRST}data/insurance_evaluation_data.csv", read),),
                **common,
            )
        )
    read = partial(tables.insurance_rows, targets=("CLAIM_FLAG", "CLM_AMT"))
    entries.append(
        Entry(
            name="cars_claims",
            description="A larger sibling of cars_full: the 7657 complete rows of 10302, same "
            "features and targets. Not used by the paper.",
            source="car insurance claims (Kaggle), repository mostafasabry10/Final_Car_Insurance",
            file="ocdt/cars_claim_10302.csv.gz",
            read=partial(tables.from_rows, read=read),
            downloads=(
                Rows(
                    f"{_GITHUB}mostafasabry10/Final_Car_Insurance/"
                    "ab759270d4e627df39a27ef9c5a6f75c0713f1d0/car_insurance_claim.csv",
                    read,
                ),
            ),
            **common,
        )
    )
    inputs = [f"X{j}" for j in range(1, 7)]
    for rows in (500, 1000, 2000):
        for courses in (3, 5, 7):
            entries.append(
                Entry(
                    name=f"class_{rows}_{courses}",
                    description="'class' of the paper: simulated students (first number in the "
                    "name) and their grades in elective courses (second number), at most two of "
                    "them above 0.",
                    source="generated; equals the file in repository sibirbil/OCDT (history)",
                    make=partial(_grades, rows, courses),
                    aliases=(f"class_df_size_{rows}_targets_{courses}",),
                    **common
                    | {"kinds": ("shipped", "generated", "constrained"), "licence": "MIT"},
                )
            )
    for seed in range(5):
        names = (*inputs, *(f"y{j}" for j in range(1, 14)))
        entries.append(
            _series(
                f"hts_500_{seed}",
                f"hts_df_size_500_seed_{seed}_v2",
                names,
                "hts",
                _OCDT_LATER,
                "'hierarchical time series' of the paper's later version: thirteen whole-numbered "
                "targets, at most four above 0, that add up to 15. The last number in the name is "
                "the seed.",
            )
        )
    for rows in (500, 1000, 2000):
        for targets in (5, 9):
            for seed in range(3):
                names = (*inputs, *(f"y{j}" for j in range(1, targets + 1)))
                entries.append(
                    _series(
                        f"manifold_{rows}_{targets}_{seed}",
                        f"synthetic_manifold_df_size_{rows}_targets_{targets}_seed_{seed}",
                        names,
                        "synthetic_manifold",
                        _OCDT_LATER,
                        "Synthetic data of the paper's later version: targets near a linear "
                        "manifold; the added noise takes every target off it. The numbers in the "
                        "name are rows, targets and seed.",
                    )
                )
    for stands_for, make, text in (
        ("scores", constrained_stand_ins.scores, "pupils with five nominal features and three "
         "scores, some of them 0 by the same rules"),
        ("cars", constrained_stand_ins.cars, "insured drivers with 13 numeric features, a claim "
         "or none, and its amount"),
        ("hts", constrained_stand_ins.hts, "thirteen whole-numbered targets, at most four above "
         "0, that add up to 15"),
        ("manifold", constrained_stand_ins.manifold, "five targets near a linear manifold"),
    ):
        entries.append(
            Entry(
                name=f"{stands_for}_generated",
                kinds=("shipped", "generated"),
                task="regression",
                description=f"A generated stand-in for {stands_for}, not the paper's data: {text}. "
                "Columns, ranges and constraints are alike, rows are not; results on it do not "
                "compare with published numbers.",
                source="generated by odtlib.datasets.constrained_stand_ins",
                licence="MIT",
                citation="This project",
                make=make,
            )
        )
    return entries


@cache
def entries() -> dict[str, Entry]:
    """Every data set by its name, in the order of the catalogue."""
    groups = (_generated, _papers, _further, _murtree, _continuous, _constrained)
    return {entry.name: entry for group in groups for entry in group()}


@cache
def _spellings() -> dict[str, str]:
    """Lower-case names and other names, each with the name in the catalogue."""
    names = {}
    for entry in entries().values():
        for spelling in (*entry.aliases, entry.name):
            names[spelling.lower()] = entry.name
    return names


def find(name: str) -> Entry:
    """Find a data set by its name; case does not matter."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set is a string, not {type(name).__name__}")
    known = _spellings()
    if name.lower() in known:
        return entries()[known[name.lower()]]
    import difflib

    wanted = name.lower()
    close = [known[key] for key in known if wanted and wanted in key]
    close += [known[key] for key in difflib.get_close_matches(wanted, known, n=5)]
    close = list(dict.fromkeys(close))[:5]
    hint = f"did you mean {', '.join(close)}?" if close else "available() lists the names."
    raise ValueError(f"there is no data set {name!r}; {hint}")
