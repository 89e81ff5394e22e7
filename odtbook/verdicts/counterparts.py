"""Find the counterpart of every published cell in our records."""

from __future__ import annotations

import fnmatch
import functools
import math

import numpy as np

from odtbook.experiments.published import published

SMALL = {
    "Balance-scale": "balance-scale", "Banknote-auth.": "banknote",
    "Car-evaluation": "car_evaluation", "Ionosphere": "Ionosphere", "Iris": "iris_uci",
    "Monks-prob.-1": "monk1", "Monks-prob.-2": "monk2", "Monks-prob.-3": "monk3",
    "PI-diabetes": "IndiansDiabetes", "Seismic-bumps": "seismic_bumps", "Spambase": "spambase",
    "Statlog-sat.": "Statlog_satellite", "Tic-tac-toe": "tic-tac-toe", "Wine": "wine"}
LARGE = {
    "Magic4": "magic04", "Default credit": "default_credit", "HTRU_2": "HTRU_2",
    "Letter recognition": "letter_recognition", "Statlog shuttle": "Statlog_shuttle",
    "Hand-posture": "hand_posture"}
OTHER_SPELLINGS = {
    "Banknote-authentification": "banknote", "Monks-problems-1": "monk1",
    "Monks-problems-2": "monk2", "Monks-problems-3": "monk3",
    "Pima-Indians-diabetes": "IndiansDiabetes",
    "Statlog-project-landsat-satellite": "Statlog_satellite",
    "Tic tac toe": "tic-tac-toe", "Indian diabetes": "IndiansDiabetes",
    "Indian diabeties": "IndiansDiabetes", "Car evaluation": "car_evaluation",
    "Seismic bumps": "seismic_bumps", "Statlog satellite": "Statlog_satellite",
    "Default Credit": "default_credit", "Hand posture": "hand_posture", "HTRU 2": "HTRU_2",
    "Letter Recognition": "letter_recognition", "Letter Recog": "letter_recognition",
    "Magic04": "magic04", "Shuttle": "Statlog_shuttle"}
DATA_SETS = {**SMALL, **LARGE, **OTHER_SPELLINGS}
ROW_CUTS = {"No Beta": "none", "Beta Lb": "lower", "Beta Ub": "upper", "Beta Eq": "equal",
            "All Beta": "all", "Extra Beta": "extra"}
# derived by us from the raw tables, with other classes or columns than those of the paper
STAND_INS = ("letter", "Statlog_shuttle")


class Missing(LookupError):
    """There is no record to answer with; the message says which."""


def once(function):
    """Compute a function of records, or find out what it misses, at the first such call only."""
    @functools.wraps(function)
    def remembered(records, *arguments, **options):
        key = function.__name__, repr((arguments, options))
        if key not in records.answers:
            try:
                records.answers[key] = function(records, *arguments, **options)
            except Missing as error:
                records.answers[key] = error
        if isinstance(records.answers[key], Missing):
            raise Missing(str(records.answers[key]))
        return records.answers[key]
    return remembered


class Records:
    """Records of all experiments, by pattern.

    Parameters
    ----------
    load : callable, optional
        ``load(name)`` returns the records of an experiment or raises ValueError when it has none
        (default: :func:`odtbook.experiments.load_records`).
    experiments : list of str, optional
        Names to choose from (default: those of the book).
    """

    def __init__(self, load=None, experiments=None):
        from odtbook.experiments.book import names
        from odtbook.experiments.results import load_records
        load = load or load_records
        self._names = names() if experiments is None else experiments
        self.answers = {}  # of the functions below, see ``once``

        def load_or_none(name):
            try:
                return _one_row_a_variant(load(name))
            except ValueError:      # no records yet
                return None
        self._load = functools.cache(load_or_none)

    def of(self, pattern, **where):
        """Return the records of the experiments that match a pattern.

        Parameters
        ----------
        pattern : str
            Name of an experiment, with ``*`` for any text.
        **where
            Keep the rows with this value in this column; a list gives alternatives.  A column
            that an experiment lacks excludes its records.

        Returns
        -------
        DataFrame
            Rows of failed runs are left out.

        Raises
        ------
        Missing
            If no record is left.
        """
        import pandas as pd
        found = []
        for name in self._names:
            if not fnmatch.fnmatch(name, pattern):
                continue
            table = self._load(name)
            if table is None:
                continue
            keep = table["status"] != "failed"
            for column, value in where.items():
                values = value if isinstance(value, list | tuple | set) else [value]
                keep &= table[column].isin(values) if column in table else False
            if keep.any():
                found.append(table[keep])
        if not found:
            said = ", ".join(f"{key} {value}" for key, value in where.items())
            raise Missing(f"no record of {pattern}" + (f" with {said}" if said else ""))
        return pd.concat(found, ignore_index=True)

    def first(self, *choices):
        """Return the runs of several choices, the first that has a run counting.

        Parameters
        ----------
        *choices : (str, dict)
            Pattern and conditions of :meth:`of`, the preferred ones first.

        Returns
        -------
        DataFrame
            One row a data set, split and depth.

        Raises
        ------
        Missing
            If no choice has any record.
        """
        import pandas as pd
        found, missed = [], []
        for pattern, where in choices:
            try:
                found.append(self.of(pattern, **where))
            except Missing as error:
                missed.append(str(error))
        if not found:
            raise Missing("; ".join(missed))
        return pd.concat(found, ignore_index=True).drop_duplicates(
            ["dataset", "split", "max_depth"])


def _one_row_a_variant(table):
    """Give each way with row constraints that one record holds a row of its own."""
    import pandas as pd
    if "measures" not in table or not table["measures"].map(lambda m: "variants" in m).any():
        return table
    rows = [{**row, **{name: value for name, value in variant.items() if name in table.columns},
             "row_cuts": row_cuts, "counters": variant}
            for row in table.to_dict("records")
            for row_cuts, variant in row["measures"].get("variants", {}).items()]
    return pd.DataFrame(rows, columns=["row_cuts", *table.columns])


@once
def method_runs(records, method):
    """Return the runs of a method on the splits of the papers.

    Parameters
    ----------
    records : Records
        Where to look.
    method : str
        "CART", "CART*", "CGH" (candidates from CARTs on 90 % of the rows), "Revised CG" (70 %),
        "OCT" or "BinOCT*".

    Returns
    -------
    DataFrame
        Columns ``dataset``, ``split``, ``max_depth``, ``train``, ``test`` in per cent, and those
        of the records.
    """
    import pandas as pd
    columns = "column_generation*"
    if method == "CART":
        runs = records.first(
            ("heuristics*", {"method": "cart"}), ("head_to_head", {"method": "cart"}))
        try:    # column generation grows the CART of all training rows, too
            more = records.of(columns)
            for part in ("train", "test"):
                more[f"{part}_accuracy"] = more["measures"].str[part].str["cart_accuracy"]
            runs = pd.concat([runs, more], ignore_index=True).drop_duplicates(
                ["dataset", "split", "max_depth"])
        except Missing:
            pass
    elif method == "CART*":
        runs = records.first(("head_to_head", {"method": "tuned-cart"}),
                             ("heuristics*", {"method": "tuned-cart"}))
    elif method == "CGH":
        runs = records.first((columns, {"sample_share": 0.9, "link": "prefix"}),
                             (columns, {"sample_share": 0.9, "row_cuts": "all"}),
                             ("head_to_head", {"method": "cg"}),
                             # what column generation would return with enough time
                             ("head_to_head_large", {"method": "restricted"}))
    elif method == "Revised CG":
        runs = records.first((columns, {"sample_share": 0.7, "link": "prefix"}),
                             (columns, {"sample_share": 0.7, "row_cuts": "upper"}),
                             ("head_to_head", {"method": "revised-cg"}))
    else:
        runs = integer_programs(records, method)
    return runs.assign(train=100 * runs["train_accuracy"], test=100 * runs["test_accuracy"])


def integer_programs(records, method):
    """Return the runs of OCT or BinOCT: the program itself, started from CART as published."""
    name, solvers = {"OCT": ("oct", ["highs"]), "BinOCT*": ("binoct", ["cp-sat", "highs"])}[method]
    return records.first(*(
        (pattern, {"method": name, "solver": solver, "start": "cart"})
        for solver in solvers for pattern in ("milp_full", "milp")))


def over_splits(runs, part, *, splits=5):
    """Average over the splits of each data set and depth.

    Parameters
    ----------
    runs : DataFrame
        From :func:`method_runs`.
    part : str
        Column to average.
    splits : int, default=5
        Data sets and depths with fewer are left out, but for the large sets: their parts have
        thousands of rows, so that one split says as much as five of a small set.

    Returns
    -------
    DataFrame
        Index (dataset, max_depth); columns ``mean`` and ``noise``, twice the standard error of
        the mean; with fewer than three splits that of a share of so many rows.
    """
    grouped = runs.dropna(subset=[part]).groupby(["dataset", "max_depth"])
    found = grouped[part].agg(["mean", "std", "count"])
    large = found.index.get_level_values("dataset").isin(LARGE.values())
    found["noise"] = 2 * found["std"] / np.sqrt(found["count"])
    few = found["count"] < 3
    if few.any():
        tested = grouped["rows"].max() / (2 if part == "test" else 1)
        share = 2 * np.sqrt(found["mean"] * (100 - found["mean"]) / (tested * found["count"]))
        found.loc[few, "noise"] = share[few]
    return found.loc[(found["count"] >= splits) | large, ["mean", "noise"]]


# ------------------------------------------------------------------ cells, paper by paper


def attempt(function, *arguments, **options):
    """Return what a function finds in the records, or None if there are none."""
    try:
        return function(*arguments, **options)
    except Missing:
        return None


def _cells(rows):
    import pandas as pd
    columns = ["row", "column", "published", "ours", "noise", "group", "rule"]
    return pd.DataFrame(rows).reindex(columns=columns)


def _number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def accuracies(records, name, columns, part):
    """Cells of a table of accuracies whose rows are data sets.

    Parameters
    ----------
    records : Records
        Ours.
    name : str
        Published table.
    columns : dict
        Column of the table -> (method, depth); depth None reads it from the column "k".
    part : str
        "train" or "test".

    Returns
    -------
    DataFrame
    """
    source = published(name)
    ours = {}
    for method, _ in columns.values():
        for wanted in method if isinstance(method, tuple) else (method,):
            if wanted not in ours:
                runs = attempt(method_runs, records, wanted)
                ours[wanted] = None if runs is None else over_splits(runs, part)
    rows = []
    for label, line in source.iterrows():
        depth_of_line = line.get("k")
        for column, (method, depth) in columns.items():
            at = (DATA_SETS[label], int(depth if depth is not None else depth_of_line))
            found = [_at(ours[m], at) for m in
                     (method if isinstance(method, tuple) else (method,))]
            # a pair of methods: the gain of the first over the second
            mean = found[0][0] - (found[1][0] if len(found) > 1 else 0.0)
            rows.append({
                "row": label if depth_of_line is None else f"{label}, k = {int(depth_of_line)}",
                "column": column, "published": _number(line[column]), "ours": mean,
                "noise": found[0][1]})
    return _cells(rows)


def _at(table, key):
    if table is None or key not in table.index:
        return math.nan, math.nan
    return tuple(table.loc[key])


def firat_table3(records):
    """Testing accuracy on the large data sets."""
    return accuracies(records, "firat2020_table3", {
        f"k = {k}, {name}": (name, k) for k in (2, 3, 4) for name in ("CART", "CART*", "CGH")},
        "test")


def firat_table4(records):
    """Share of integral relaxations among the runs whose column generation ended."""
    runs, found = attempt(_as_firat, records), {}
    if runs is not None:
        ended = runs[runs["counters"].str["converged"].fillna(False).astype(bool)]
        integral = ended["counters"].str["integral"].astype(float)
        grouped = integral.groupby(ended["max_depth"])
        found = (100 * grouped.mean())[grouped.count() >= 35].to_dict()     # of 70
    source = published("firat2020_table4")
    return _cells([{"row": f"depth {depth}", "column": "Percentage (%)",
                    "published": float(line["Percentage (%)"]),
                    "ours": found.get(int(depth), math.nan)}
                   for depth, line in source.iterrows()])


def _as_firat(records):
    """Runs in the form of Firat et al.: all row constraints, links node by node."""
    form = {"link": "node", "row_cuts": "all"}
    runs = records.first(("column_generation*", {**form, "sample_share": 0.9}),
                         ("head_to_head", {"method": "cg"}))
    return runs[runs["dataset"].isin(SMALL.values())]


def sizes(records, name, columns):
    """Cells of a table of data sets: rows, features, classes; ours from the manifest."""
    from odtlib.datasets import manifest
    facts = manifest.facts()
    source = published(name)
    rows = []
    for _, line in source.reset_index().iterrows():
        fact = facts.get(DATA_SETS[line["Dataset"]], {})
        for column, key in columns.items():
            rows.append({"row": line["Dataset"], "column": column,
                         "published": _number(line[column]),
                         "ours": _number(fact.get(key))})
    return _cells(rows)


def firat_figure1(records):
    """Mean accuracies over the data sets, as the tables in the appendix give them."""
    import pandas as pd
    rows = []
    tables = [(k, "train", firat_table7(records)) for k in (2, 3, 4)]
    tables += [(k, "test", firat_tests(records, k)) for k in (2, 3, 4)]
    for k, part, cells in tables:
        if part == "train":
            cells = cells[cells["column"].str.startswith(f"k = {k}")]
            cells = cells.assign(column=cells["column"].str.partition(", ")[2])
        for column, group in cells.groupby("column", sort=False):
            whole = group["ours"].notna().all()
            rows.append({"row": f"depth {k}, {part}ing", "column": column,
                         "published": group["published"].mean(),
                         "ours": group["ours"].mean() if whole else math.nan,
                         "noise": np.sqrt((group["noise"] ** 2).sum()) / len(group)})
    return _cells(pd.DataFrame(rows))


def firat_table7(records):
    """Training accuracy on the small data sets."""
    return accuracies(records, "firat2020_table7", {
        f"k = {k}, {name}": (name, k) for k in (2, 3, 4)
        for name in ("CART", "BinOCT*", "CGH")}, "train")


def firat_tests(records, depth):
    """Testing accuracy on the small data sets at one depth: Tables 8, 9 and 10."""
    return accuracies(records, f"firat2020_table{depth + 6}", {
        "CART": ("CART", depth), "CART(BD)*": ("CART*", depth), "OCT": ("OCT", depth),
        "BinOCT*": ("BinOCT*", depth), "CGH": ("CGH", depth)}, "test")


def patel_gains(records, number, part):
    """Accuracy and gain of the revised method: Tables 7, 8 and 9."""
    lead = "" if number == 9 else "Revised CG, "
    return accuracies(records, f"patel2023_table{number}", {
        f"{lead}CART": ("CART", None), f"{lead}CG": ("Revised CG", None),
        f"{lead}Gain": (("Revised CG", "CART"), None)}, part)


def patel_table6(records):
    """Mean training accuracy of the variants of row constraints at depth four."""
    labels = {*published("patel2023_table7").index, *published("patel2023_table9").index}
    sets = [DATA_SETS[label] for label in labels]
    table = attempt(variants, records, "row_cuts", ROW_CUTS.values(), dataset=sets)
    source = published("patel2023_table6")
    gain, level, cart = {}, {}, math.nan
    if table is not None:
        gain = (table["train_accuracy"] - table["cart"]).mean() * 100
        level = table["train_accuracy"].mean() * 100
        cart = 100 * table["cart"].mean().mean()
    rows = []
    for name, line in source.iterrows():
        here = {"Train accuracy (%)": cart, "Gain over CART (%)": 0.0} if name == "CART" else {
            "Train accuracy (%)": level.get(ROW_CUTS[name], math.nan),
            "Gain over CART (%)": gain.get(ROW_CUTS[name], math.nan)}
        rows += [{"row": name, "column": column, "published": float(line[column]), "ours": value}
                 for column, value in here.items()]
    return _cells(rows)


@once
def variants(records, factor, levels, pattern="column_generation*", **where):
    """Put runs side by side that differ in one parameter.

    Parameters
    ----------
    records : Records
        Ours.
    factor : str
        The parameter.
    levels : iterable of str
        Its values; only blocks of runs that have all of them count, and of these the deepest.
    pattern : str, default="column_generation*"
        Experiments to look at.
    **where
        Further conditions of :meth:`Records.of`.

    Returns
    -------
    dict of DataFrame
        For each of ``cpu_seconds``, ``train_accuracy``, ``cart``, ``relaxation``, ``columns``,
        ``optimum`` (correct rows), ``correct``, ``proved``: means by data set (index) and level
        (columns).

    Raises
    ------
    Missing
        If no data set has all levels.
    """
    levels = list(levels)
    runs = records.of(pattern, **{"link": "node", factor: levels, **where})
    parameters = list(runs.columns[:list(runs.columns).index("status")])
    block = [name for name in parameters if name != factor and runs[name].notna().any()]
    complete = runs.groupby(block, dropna=False)[factor].transform("nunique") == len(levels)
    runs = runs[complete]
    if runs.empty:
        raise Missing(f"no data set has records of {pattern} with all of {factor}: "
                      f"{', '.join(map(str, levels))}")
    runs = runs[runs["max_depth"] == runs["max_depth"].max()]
    train = runs["measures"].str["train"]
    runs = runs.assign(
        cart=train.str["cart_accuracy"].astype(float),
        relaxation=runs["counters"].str["relaxation"].astype(float) / runs["rows"],
        columns=runs["counters"].str["columns"].astype(float),
        optimum=1 - train.str["optimum"].astype(float) / runs["rows"],
        proved=runs["counters"].str["relaxation"].astype(float)
        < runs["rows"] - runs["objective"] + 1 - 1e-6)
    hows = dict.fromkeys(("cpu_seconds", "train_accuracy", "cart", "relaxation", "columns",
                          "optimum"), "mean") | {"proved": "sum", "split": "count"}
    table = runs.groupby(["dataset", factor]).agg(hows)
    return {name: table[name].dropna().unstack(factor) for name in hows}


def birbil_table1(records):
    """Features of the students: limits, mean and deviation."""
    runs = attempt(records.of, "constrained_figures", study="features", n_rows=2000)
    measures = {} if runs is None else runs["measures"].iloc[0]
    source = published("birbil2024_table1")
    rules = {"Min": "at least", "Max": "at most"}
    return _cells([
        {"row": name, "column": column, "published": _number(line[column]),
         "ours": measures.get(name, {}).get(column, math.nan), "rule": rules.get(column)}
        for name, line in source.iterrows() for column in ("Min", "Max", "Mean", "Std.Dev.")])


@once
def constrained_runs(records):
    """Return the constrained study, one row a variant and fold, by the paper's settings."""
    from odtbook.studies import constrained as study
    runs = study.tidy(records.of("constrained"))
    is_class = runs["dataset"].str.startswith("class")
    deep = is_class & (runs["max_depth"] == 15) & (runs["max_courses"] == 1)
    runs = runs[deep | ~is_class]
    return runs.assign(kind=runs["dataset"].str.partition("_")[0])


def birbil_figure2(records):
    """Error and infeasible predictions on scores and cars."""
    return _birbil_bars(records, "birbil2024_figure2", {
        "scores, MSE": ("scores", "mse"), "scores, infeasible": ("scores", "infeasible"),
        "cars, MSE": ("cars", "mse"), "cars, infeasible": ("cars", "infeasible")})


def birbil_figure4(records):
    """Error and infeasible predictions on class, depth 15, one course."""
    return _birbil_bars(records, "birbil2024_figure4",
                        {"MSE": ("class", "mse"), "infeasible": ("class", "infeasible")})


def _birbil_bars(records, name, columns):
    runs, means = attempt(constrained_runs, records), {"mse": {}, "infeasible": {}}
    if runs is not None:
        means = runs.groupby(["kind", "variant"])[["mse", "infeasible"]].mean()
    return _cells([
        {"row": variant, "column": column, "published": float(line[column]),
         "ours": means[measure].get((kind, variant), math.nan)}
        for variant, line in published(name).iterrows()
        for column, (kind, measure) in columns.items()])


def friedman(records, kind):
    """Return the table of errors, folds by variants, and the p-value of Friedman's test."""
    from scipy.stats import friedmanchisquare

    from odtbook.studies import constrained as study
    runs = constrained_runs(records)
    runs = runs[(runs["kind"] == kind) & runs["variant"].isin(study.VARIANTS)]
    if runs.empty:
        raise Missing(f"no record of the variants on {kind}")
    # errors that agree but for rounding are ties
    errors = runs.groupby(["dataset", "fold", "variant"])["mse"].mean().unstack().round(0)
    return errors, float(friedmanchisquare(*errors.to_numpy().T).pvalue)


def birbil_figure3(records):
    """P-values of Friedman's test on scores and cars."""
    source = published("birbil2024_friedman")
    ours = {kind: attempt(friedman, records, kind) for kind in ("scores", "cars")}
    return _cells([{"row": kind, "column": "p", "published": float(source.loc[kind, "p"]),
                    "ours": math.nan if found is None else found[1]}
                   for kind, found in ours.items()])


def murtree_names():
    """Return (name, rows) in the MurTree paper -> name of the data set, stand-ins left out."""
    from odtlib.datasets import manifest
    columns_of = {(name, line["rows"]): line["features"] for k in (1, 2, 4, 5)
                  for name, line in published(f"demirovic2022_table{k}").iterrows()}
    found = {}
    for (name, rows), features in columns_of.items():
        same = [key for key, fact in manifest.facts().items()
                if key.startswith(f"murtree/{name}")
                and (fact["rows"], fact["features"]) == (rows, features)]
        if same and name not in STAND_INS:
            found[name, rows] = same[0]
    return found


# Tables 1 to 3 are about the paper's own techniques: no bounds from relatives.
BUDGETS = {"cache": "dataset", "similarity_bound": "siblings", "incremental_counts": True,
           "feature_order": "in-order", "child_order": "dynamic", "copies": 1, "max_depth": 4}
SWITCHES = {
    "Branch Cache, Time": {"cache": "branch"}, "Dataset Cache, Time": {},
    "Branch Cache, Cache Entries": {"cache": "branch"}, "Dataset Cache, Cache Entries": {},
    "noInc-noSLB": {"similarity_bound": False, "incremental_counts": False},
    "inc-noSLB": {"similarity_bound": False}, "inc-SLB": {},
    "Gini, Dynamic": {"feature_order": "gini"}, "Random, Dynamic": {"feature_order": "random"},
    "InOrder, PostOrder": {"child_order": "post-order"}, "InOrder, Dynamic": {}}


def murtree_switches(records, number):
    """Cells of Tables 1 to 3: one job, all node budgets at depth four, under several switches."""
    source = published(f"demirovic2022_table{number}")
    names, rows = murtree_names(), []
    for column in (c for c in source if c in SWITCHES):
        runs = attempt(_last_of, records, "murtree_budgets", **{**BUDGETS, **SWITCHES[column]})
        entries = column.endswith("Entries")
        for name, line in source.iterrows():
            rows.append({"row": _row(name, line, source), "column": column,
                         "published": float(line[column]),
                         "ours": _measured(runs, names.get((name, line["rows"])),
                                           entries=entries),
                         "group": "entries" if entries else "seconds"})
    return _cells(rows)


def _last_of(records, pattern, **where):
    """Return one run a data set, the last of several."""
    runs = records.of(pattern, **where)
    return runs.drop_duplicates("dataset", keep="last").set_index("dataset")


@once
def full_budget(records, depth):
    """Return MurTree's runs on all rows with everything on, one a data set of the paper."""
    runs = _last_of(records, "murtree*", max_depth=depth, split=[None, math.nan],
                    max_nodes=[None, math.nan], split_penalty=0.0, min_samples_leaf=1,
                    similarity_bound=True, refined_bound=True, cache="dataset",
                    feature_order="depth-two", child_order="dynamic")
    return runs[runs.index.str.startswith("murtree/")]


def _row(name, line, source):
    twice = (source.index == name).sum() > 1
    return f"{name} ({line['rows']} rows)" if twice else name


def _measured(runs, name, *, entries=False):
    """CPU seconds until the proof, infinite without one; or entries of the cache, in thousands."""
    if runs is None or name is None or name not in runs.index:
        return math.nan
    run = runs.loc[name]
    if entries:
        return run["counters"]["cache_entries"] / 1000
    return run["cpu_seconds"] if run["status"] == "optimal" else math.inf


def murtree_table4(records):
    """Cells of Table 4: one to four copies of the rows."""
    source, names = published("demirovic2022_table4"), murtree_names()
    rows = []
    for depth in (4, 5):
        for copies in (1, 2, 3, 4):
            runs = attempt(_last_of, records, "murtree_copies",
                           **{**BUDGETS, "similarity_bound": True, "copies": copies,
                              "max_depth": depth})
            column = f"depth={depth}, Time {copies}"
            for name, line in source.iterrows():
                rows.append({"row": _row(name, line, source), "column": column,
                             "published": float(line[column]), "group": "seconds",
                             "ours": _measured(runs, names.get((name, line["rows"])))})
    return _cells(rows)


def murtree_table5(records):
    """Cells of Table 5, MurTree's own columns: seconds until the proof, full budget."""
    source, names = published("demirovic2022_table5"), murtree_names()
    rows = []
    for depth in (4, 5):
        runs = attempt(full_budget, records, depth)
        column = f"Depth={depth}, MurTree"
        for name, line in source.iterrows():
            rows.append({"row": _row(name, line, source), "column": column,
                         "published": float(line[column]),
                         "ours": _measured(runs, names.get((name, line["rows"]))),
                         "group": "seconds"})
    return _cells(rows)
