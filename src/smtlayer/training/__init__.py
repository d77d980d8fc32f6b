"""Training a model on a task, and the record of it."""

from smtlayer.training.build import TASKS as TASKS
from smtlayer.training.build import make_task as make_task
from smtlayer.training.config import RunConfig as RunConfig
from smtlayer.training.experiments import Experiment as Experiment
from smtlayer.training.experiments import load_experiment as load_experiment
from smtlayer.training.experiments import row_names as row_names
from smtlayer.training.metrics import evaluate as evaluate
from smtlayer.training.options import LayerOptions as LayerOptions
from smtlayer.training.options import PretrainOptions as PretrainOptions
from smtlayer.training.options import RestartOptions as RestartOptions
from smtlayer.training.options import TrainOptions as TrainOptions
from smtlayer.training.records import RunRecord as RunRecord
from smtlayer.training.run import Run as Run
from smtlayer.training.run import run as run
from smtlayer.training.run import scored_rows as scored_rows
from smtlayer.training.step import Stepper as Stepper
from smtlayer.training.step import solver_counts as solver_counts
from smtlayer.training.step import solver_layers as solver_layers
from smtlayer.training.timing import Timing as Timing
from smtlayer.training.timing import time_epochs as time_epochs
from smtlayer.training.trainer import Epoch as Epoch
from smtlayer.training.trainer import Event as Event
from smtlayer.training.trainer import Trainer as Trainer
