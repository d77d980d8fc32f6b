"""Training a model on a task, and the record of it."""

from smtlayer.training.options import TrainOptions as TrainOptions
from smtlayer.training.records import RunRecord as RunRecord
from smtlayer.training.trainer import Epoch as Epoch
from smtlayer.training.trainer import History as History
from smtlayer.training.trainer import evaluate as evaluate
from smtlayer.training.trainer import train as train
