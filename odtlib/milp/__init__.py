"""Integer programs for trees: BinOCT, OCT and the flow model."""

from odtlib.milp.binoct import BinOCTClassifier
from odtlib.milp.flow import FlowOCTClassifier
from odtlib.milp.oct import OCTClassifier

__all__ = ["BinOCTClassifier", "FlowOCTClassifier", "OCTClassifier"]
