"""Draw the tree of the README and the landing page into _static/optimal-tree.svg."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from odtbook import figures
from odtbook.datasets import load
from odtlib import MurTreeClassifier

TARGET = Path(__file__).resolve().parents[1] / "_static" / "optimal-tree.svg"

monks = load("monk1_full")
model = MurTreeClassifier(max_depth=5, max_nodes=7, binarizer="all").fit(monks.X, monks.y)
mpl.rcParams["svg.hashsalt"] = "odtlib"  # the same tree gives the same file
with figures.style():  # so narrow that a phone shows the text at nine pixels
    axes = plt.figure(figsize=(4.8, 5.4)).add_axes((0, 0, 1, 1))
model.tree_.plot(axes, X=monks.X, feature_names=monks.feature_names, font_size=9)
axes.figure.savefig(TARGET, metadata={"Date": None})
print(model.report_.status, model.report_.objective, "errors;", axes.alt)
