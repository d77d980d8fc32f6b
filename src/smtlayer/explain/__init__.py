"""Explanations of a layer's answers, as `SMTLayer.explain` returns them."""

from smtlayer.explain.result import BlamedSymbol as BlamedSymbol
from smtlayer.explain.result import Column as Column
from smtlayer.explain.result import Contradiction as Contradiction
from smtlayer.explain.result import Explanation as Explanation
from smtlayer.explain.result import Explanations as Explanations
from smtlayer.explain.result import Overruled as Overruled
from smtlayer.explain.result import RunnerUp as RunnerUp
from smtlayer.explain.result import SymbolRead as SymbolRead
