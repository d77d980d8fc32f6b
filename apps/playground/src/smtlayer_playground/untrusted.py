"""The work of the sandbox: text that a user pastes or types, on two pages."""

from typing import Any

from smtlayer_playground import requirements, theory
from smtlayer_playground.limits import Limits
from smtlayer_playground.sandbox import Sandbox

_PAGES = {"theory": theory.solve_request, "requirements": requirements.solve_request}
_WARM_UP: dict[str, Any] = {"page": "all"}


def make_sandbox(limits: Limits) -> Sandbox:
    """The sandbox in which pasted theories and typed requirements are solved."""
    return Sandbox(work, _WARM_UP, limits)


def work(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Answers a valid request of one of the pages; runs in the sandbox."""
    if request == _WARM_UP:
        theory.solve_request(theory.XOR, limits)
        return requirements.warm_up(limits)
    return _PAGES[request["page"]](request, limits)
