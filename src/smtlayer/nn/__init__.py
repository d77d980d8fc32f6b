"""The layer, its rules and its gradient."""

from smtlayer.nn.layer import SMTLayer as SMTLayer
from smtlayer.nn.likelihood import Marginals as Marginals
from smtlayer.nn.losses import LikelihoodLoss as LikelihoodLoss
from smtlayer.nn.losses import SemanticLoss as SemanticLoss
from smtlayer.nn.rules.anneal import anneal as anneal
from smtlayer.nn.rules.anneal_core import anneal_core as anneal_core
from smtlayer.nn.rules.base import Blame as Blame
from smtlayer.nn.rules.base import BlameRule as BlameRule
from smtlayer.nn.rules.base import ForwardRule as ForwardRule
from smtlayer.nn.rules.base import Question as Question
from smtlayer.nn.rules.composite import mix as mix
from smtlayer.nn.rules.composite import schedule as schedule
from smtlayer.nn.rules.core import core as core
from smtlayer.nn.rules.decision import blackbox as blackbox
from smtlayer.nn.rules.decision import decision as decision
from smtlayer.nn.rules.decision import perturbed as perturbed
from smtlayer.nn.rules.maxsmt import maxsmt as maxsmt
from smtlayer.nn.rules.maxsmt import smt as smt
from smtlayer.nn.rules.parse import parse_rule as parse_rule
from smtlayer.nn.rules.posterior import marginal as marginal
from smtlayer.nn.rules.posterior import sample as sample
from smtlayer.nn.rules.posterior import topk as topk
from smtlayer.nn.stats import Stats as Stats
