"""The public names, for type checkers: at run time they are loaded on first use."""

from odtlib.milp.binoct import BinOCTClassifier as BinOCTClassifier
from odtlib.milp.flow import FlowOCTClassifier as FlowOCTClassifier
from odtlib.milp.oct import OCTClassifier as OCTClassifier
