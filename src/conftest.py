"""Keeps doctests away from modules whose optional package is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("lightning") else ["smtlayer/training/lightning.py"]
