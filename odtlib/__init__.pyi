"""The public names, for type checkers: at run time they are loaded on first use."""

from odtlib.column_generation import (
    ColumnGenerationClassifier as ColumnGenerationClassifier,
)
from odtlib.column_generation import (
    ColumnGenerationSearch as ColumnGenerationSearch,
)
from odtlib.column_generation import (
    RestrictedTreeClassifier as RestrictedTreeClassifier,
)
from odtlib.constrained import (
    ConstrainedForestRegressor as ConstrainedForestRegressor,
)
from odtlib.constrained import (
    ConstrainedTreeClassifier as ConstrainedTreeClassifier,
)
from odtlib.constrained import (
    ConstrainedTreeRegressor as ConstrainedTreeRegressor,
)
from odtlib.constrained import (
    OptimalConstrainedTreeRegressor as OptimalConstrainedTreeRegressor,
)
from odtlib.constrained import (
    ProjectedRegressor as ProjectedRegressor,
)
from odtlib.continuous import (
    ContinuousTreeClassifier as ContinuousTreeClassifier,
)
from odtlib.continuous import (
    ContinuousTreeRegressor as ContinuousTreeRegressor,
)
from odtlib.heuristics import (
    CARTClassifier as CARTClassifier,
)
from odtlib.heuristics import (
    LocalSearchTreeClassifier as LocalSearchTreeClassifier,
)
from odtlib.heuristics import (
    TunedCARTClassifier as TunedCARTClassifier,
)
from odtlib.murtree import (
    MurTreeClassifier as MurTreeClassifier,
)
from odtlib.murtree import (
    MurTreeRegressor as MurTreeRegressor,
)
from odtlib.murtree import (
    MurTreeSearch as MurTreeSearch,
)
from odtlib.murtree import (
    SurvivalTree as SurvivalTree,
)
from odtlib.report import SolveReport as SolveReport
from odtlib.tree import DecisionTree as DecisionTree

__version__: str
