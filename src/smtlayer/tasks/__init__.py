"""Worked problems: a theory, its data and its network."""

from smtlayer.tasks.base import Batch as Batch
from smtlayer.tasks.base import Model as Model
from smtlayer.tasks.base import Task as Task
from smtlayer.tasks.mnist import load_digits as load_digits
from smtlayer.tasks.mnist_addition import MnistAddition as MnistAddition
