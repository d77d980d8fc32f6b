"""A formula, its inputs and outputs, and the way between values and signs."""

from smtlayer.theory.encodings import OneHot as OneHot
from smtlayer.theory.encodings import one_hot as one_hot
from smtlayer.theory.signs import to_signs as to_signs
from smtlayer.theory.theory import Theory as Theory
