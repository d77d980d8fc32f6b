"""Completion of words on the command line. It imports no torch, so that TAB answers at once."""

from collections.abc import Iterable

from smtlayer_cli.plugins import lab_problems

_RULES = (
    "anneal_core", "core", "maxsmt", "sample", "marginal", "topk", "decision", "perturbed",
    "blackbox",
)  # fmt: skip


def rules(incomplete: str) -> list[str]:
    """Blame rules that are a single word."""
    return starting_with(incomplete, _RULES)


def devices(incomplete: str) -> list[str]:
    """Kinds of devices, whether or not this machine has them."""
    return starting_with(incomplete, ("cpu", "cuda"))


def problems(incomplete: str) -> list[str]:
    """Problems of `smtlayer lab`; any other word is a file."""
    return starting_with(incomplete, lab_problems())


def starting_with(incomplete: str, names: Iterable[str]) -> list[str]:
    """The names that begin with what is typed."""
    return [name for name in names if name.startswith(incomplete)]
