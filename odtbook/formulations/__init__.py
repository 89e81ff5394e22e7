"""Integer programs for trees: BinOCT, OCT and the flow model."""

from odtbook.formulations.binoct import BinOCTClassifier
from odtbook.formulations.flow import FlowOCTClassifier
from odtbook.formulations.oct import OCTClassifier

__all__ = ["BinOCTClassifier", "FlowOCTClassifier", "OCTClassifier"]
