"""The layer, its rules and its gradient."""

from smtlayer.nn.layer import SMTLayer as SMTLayer
from smtlayer.nn.rules import Blame as Blame
from smtlayer.nn.rules import BlameRule as BlameRule
from smtlayer.nn.rules import Question as Question
from smtlayer.nn.rules import blame_core as blame_core
from smtlayer.nn.rules import blame_repair as blame_repair
from smtlayer.nn.stats import Stats as Stats
