"""Draw the tree of the README and the landing page into _static/optimal-tree.svg."""

from pathlib import Path

import matplotlib as mpl

from odtlib import MurTreeClassifier
from odtlib.datasets import load

TARGET = Path(__file__).resolve().parents[1] / "_static" / "optimal-tree.svg"

monks = load("monk1_full")
model = MurTreeClassifier(max_depth=5, max_nodes=7, binarizer="all").fit(monks.X, monks.y)
mpl.rcParams["svg.hashsalt"] = "odtlib"  # the same tree gives the same file
axes = model.tree_.plot(X=monks.X, feature_names=monks.feature_names)
axes.figure.savefig(TARGET, metadata={"Date": None})
print(model.report_.status, model.report_.objective, "errors;", axes.alt)
