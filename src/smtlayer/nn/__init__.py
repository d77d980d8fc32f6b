"""The layer, its rules and its gradient."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smtlayer.nn.compose import mix as mix
from smtlayer.nn.compose import schedule as schedule
from smtlayer.nn.layer import SMTLayer as SMTLayer
from smtlayer.nn.parse import parse_rule as parse_rule
from smtlayer.nn.posterior import marginal as marginal
from smtlayer.nn.posterior import sample as sample
from smtlayer.nn.progress import anneal as anneal
from smtlayer.nn.rules import Blame as Blame
from smtlayer.nn.rules import BlameRule as BlameRule
from smtlayer.nn.rules import Question as Question
from smtlayer.nn.rules import core as core
from smtlayer.nn.rules import maxsmt as maxsmt
from smtlayer.nn.stats import Stats as Stats

if TYPE_CHECKING:
    from smtlayer.nn.explanation import Explanation as Explanation
    from smtlayer.nn.explanation import Explanations as Explanations
else:  # imported when they are asked for, as most programs explain nothing

    def __getattr__(name: str) -> Any:
        if name not in ("Explanation", "Explanations"):
            raise AttributeError(f"module 'smtlayer.nn' has no attribute {name!r}")
        return getattr(import_module("smtlayer.nn.explanation"), name)
