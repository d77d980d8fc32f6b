"""A formula, its inputs and outputs, and the translation between values and signs."""

from smtlayer.theory.arguments import OneHot as OneHot
from smtlayer.theory.arguments import one_hot as one_hot
from smtlayer.theory.automaton import matches as matches
from smtlayer.theory.signs import to_signs as to_signs
from smtlayer.theory.symbols import Symbol as Symbol
from smtlayer.theory.symbols import SymbolKind as SymbolKind
from smtlayer.theory.theory import Theory as Theory
