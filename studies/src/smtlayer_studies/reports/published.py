"""Results that other papers report on problems that are not in the SMTLayer paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Published:
    """The test accuracy of a method, per cent, as a paper reports it."""

    method: str
    accuracy: float
    source: str


@dataclass(frozen=True)
class PublishedExperiment:
    """An experiment and the methods that others report on it, in ascending order."""

    title: str
    methods: tuple[Published, ...]


_DEEPSTOCHLOG = "Winters et al., AAAI 2022"
_ANESI = "van Krieken et al., NeurIPS 2023"
_DEEPSOFTLOG = "Maene and De Raedt, NeurIPS 2023"
_PLIA = "De Smet and Zuidberg Dos Martires, NeurIPS 2024"
_DEEPPROOFLOG = "Jiao et al., AAAI 2026"
# fmt: off
_ALL = {
    "long-addition-2": PublishedExperiment("2-digit numbers", (
        Published("A-NeSI", 96.0, _ANESI),
        Published("DeepStochLog", 96.4, _DEEPSTOCHLOG),
    )),
    "long-addition-4": PublishedExperiment("4-digit numbers", (
        Published("PLIA", 91.8, _PLIA),
        Published("A-NeSI", 92.6, _ANESI),
        Published("DeepStochLog", 92.7, _DEEPSTOCHLOG),
        Published("DeepSoftLog", 93.5, _DEEPSOFTLOG),
        Published("DeepProofLog", 94.0, _DEEPPROOFLOG),
    )),
    "long-addition-15": PublishedExperiment("15-digit numbers", (
        Published("A-NeSI", 75.9, _ANESI),
        Published("DeepSoftLog", 77.1, _DEEPSOFTLOG),
        Published("PLIA", 79.0, _PLIA),
        Published("DeepProofLog", 80.8, _DEEPPROOFLOG),
    )),
}
# fmt: on
PUBLISHED: Mapping[str, PublishedExperiment] = MappingProxyType(_ALL)
SHORTCUT = "mnist-half"  # the experiment whose training examples fit several readings
# Titles of the experiments for which no setting was tuned.
UNTUNED: Mapping[str, str] = MappingProxyType({
    "mnist-half": "MNIST-Half",
    "rock-paper-scissors": "Rock, paper, scissors",
    "roster": "Roster",
    "invoice": "Invoice",
})  # fmt: skip
