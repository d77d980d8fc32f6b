"""Runs: training a model on a task, and its record."""

from smtlayer_studies.runs.config import RunConfig as RunConfig
from smtlayer_studies.runs.epoch_timing import Timing as Timing
from smtlayer_studies.runs.epoch_timing import time_epochs as time_epochs
from smtlayer_studies.runs.experiments import Experiment as Experiment
from smtlayer_studies.runs.experiments import experiment_names as experiment_names
from smtlayer_studies.runs.experiments import load_experiment as load_experiment
from smtlayer_studies.runs.metrics import evaluate as evaluate
from smtlayer_studies.runs.metrics import scored_rows as scored_rows
from smtlayer_studies.runs.progress import Event as Event
from smtlayer_studies.runs.records import Epoch as Epoch
from smtlayer_studies.runs.records import RunRecord as RunRecord
from smtlayer_studies.runs.run import Run as Run
from smtlayer_studies.runs.run import run as run
from smtlayer_studies.runs.run_folder import RunFolder as RunFolder
from smtlayer_studies.runs.run_options import LayerOptions as LayerOptions
from smtlayer_studies.runs.run_options import MemberOptions as MemberOptions
from smtlayer_studies.runs.run_options import PretrainOptions as PretrainOptions
from smtlayer_studies.runs.run_options import RestartOptions as RestartOptions
from smtlayer_studies.runs.run_options import TrainOptions as TrainOptions
from smtlayer_studies.runs.trainer import Trainer as Trainer
from smtlayer_studies.tasks.options import make_task as make_task
