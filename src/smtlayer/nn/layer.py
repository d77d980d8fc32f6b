"""SMTLayer, a module that answers with models of a theory.

The path of the data:

logits (B, n) --to_signs--> signs (B, n) --forward rule--> Solver.solve / maximize --> Solution
                                                                        | outputs (B, m)
loss <-- targets                                                        v
grad (B, m) --wanted_outputs--> wanted (B, m) --blame rule--> Solver.core / maximize --> Blame
                                                                        v
           surrogate_gradient(logits, targets, pushed), or Blame.pull --> grad of logits (B, n)
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import torch
from torch import Tensor, nn

from smtlayer.errors import ArgumentTypeError
from smtlayer.interrupts import interruptible
from smtlayer.nn.few_rows import FEW, few_outputs
from smtlayer.nn.function import SolveFunction, refuse_bad
from smtlayer.nn.gradient import Scale
from smtlayer.nn.graph import Graphs
from smtlayer.nn.options import blame_rule, check_choice, forward_rule, refuse_unsatisfiable
from smtlayer.nn.passes import Plan, forward_pass, refuse_unknown
from smtlayer.nn.probability import Probabilities
from smtlayer.nn.progress import Progress
from smtlayer.nn.rules.base import BlameRule, ForwardRule
from smtlayer.nn.stats import Stats
from smtlayer.nn.untraced import untraced
from smtlayer.nn.validate import UNTRACEABLE, check_logits, flat_mask, wanted_signs
from smtlayer.nn.weights import Weights
from smtlayer.solvers import Backend, Possible, Solution, Solver, Status
from smtlayer.solvers.names import BackendName, backend_of
from smtlayer.solvers.possible import possible_outputs
from smtlayer.theory import Theory, to_signs

if TYPE_CHECKING:  # imported when an explanation is asked for, to keep the import light
    from smtlayer.explain import Explanations
    from smtlayer.explain.ask import Explainer


class SMTLayer(nn.Module, Probabilities):
    r"""Answers with a model of a theory whose inputs are the signs of its logits.

    For a theory $\varphi(x, y)$ and logits $\ell$, the layer sets $x = \mathrm{sign}(\ell)$, asks
    the solver for a model of $\varphi(x, y)$, and returns $y$ as signs. It has no parameters: its
    `state_dict` is empty.

    The result is piecewise constant, so its derivative is zero almost everywhere. `backward`
    instead finds the inputs that stand between the network and the outputs that the loss wants (an
    unsat core, or the cheapest repair) and pulls each of them across zero, as cross-entropy would.

    Args:
        theory: The constraints, with their inputs and outputs in column order.
        backend: The kind of solver: a backend with options, such as `Sat(workers=2)`, or its name:
            `"auto"`, `"table"`, `"circuit"`, `"sat"`, `"z3"` or `"enumerate"`. `"auto"` chooses one
            that suits the theory, see `Auto`.
        forward: The rule for inputs that contradict the theory, in `train()`: `"smt"` returns
            zeros, `"maxsmt"` overrules the least confident inputs; or any `ForwardRule`.
        inference: The same in `eval()`.
        backward: The rule that finds the blamed inputs: `"core"` by a minimal unsat core,
            `"maxsmt"` by the cheapest repair, `"sample"` and `"marginal"` by the probabilities of
            all models with the wanted outputs (`"marginal"` on `Table` and `Circuit` only), or any
            `BlameRule`. For training begin with `"anneal_core"`, which uses several of them; for
            decisions, outputs that are inputs as well, with `"perturbed"` or `"decision"`.
            Rules compose, as objects or as text: `mix(core, marginal(temperature=anneal(4, 1)))`.
            Rules that change during training use the attribute `progress`, which a training loop
            sets.
        weights: The weight of an input: `"logit"` for its log-odds, |logit|; `"softmax"` as in the
            paper.
        scale: How strongly a row is pushed: `"gradient"` by its incoming gradient, `"batch"` by
            1/(B n) as in the paper, whatever the loss.
        cuda_graphs: Whether to replay the layer's kernels on a GPU as CUDA graphs, where solver
            and rules are `capturable` (`Table`, `"smt"`, and the blame rules `"core"`, `"sample"`
            and `"marginal"`): many small launches become one.
        on_unknown: `"zero"` for zero outputs and no gradient where the solver gives up on a row;
            `"raise"` for an error.

    Shape:
        - logits: $(*, n)$, one column per theory input, any float dtype and device; `known`: bool,
          broadcast to the same shape, False where the solver may choose the input freely; `given`:
          bool in the same way, True where the sign of the logit is a fact. A fact is never
          overruled, never blamed and gets no gradient; its logit may be infinite. A row whose facts
          leave no model is UNSAT.
        - output: $(*, m)$ like the logits, values -1 and +1, or 0 in rows without a model.

    Raises:
        UnsatisfiableTheoryError: If the theory has no model at all.
        ValueError: If the blame rule needs all models and the backend does not list them.
        SolverUnknownError: If the solver gives up on a row and `on_unknown="raise"`.

    Examples:
        >>> import z3
        >>> a, b, y = z3.Bools("a b y")
        >>> layer = SMTLayer(Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y]))
        >>> layer(torch.tensor([[2.0, -1.0], [3.0, 0.5]]))
        tensor([[ 1.],
                [-1.]])

    Reference:
        Wang et al., *Grounding Neural Inference with Satisfiability Modulo Theories*, NeurIPS 2023.
    """

    @interruptible
    def __init__(
        self,
        theory: Theory,
        *,
        backend: BackendName | Backend = "auto",
        forward: Literal["smt", "maxsmt"] | ForwardRule = "smt",
        inference: Literal["smt", "maxsmt"] | ForwardRule = "maxsmt",
        backward: str | BlameRule = "core",
        weights: Weights = "logit",
        scale: Scale = "gradient",
        cuda_graphs: bool = True,
        on_unknown: Literal["zero", "raise"] = "zero",
    ) -> None:
        super().__init__()
        if not isinstance(theory, Theory):
            raise ArgumentTypeError(f"SMTLayer expects a Theory. Got {type(theory).__name__}.")
        self.theory, self.backend = theory, backend_of("SMTLayer", backend)
        self._forward = forward_rule("forward", forward)
        self._inference = forward_rule("inference", inference)
        self._backward = blame_rule(backward)
        check_choice("weights", weights, ("logit", "softmax"))
        check_choice("scale", scale, ("gradient", "batch"))
        check_choice("on_unknown", on_unknown, ("zero", "raise"))
        self._weights, self._scale, self._raise_unknown = weights, scale, on_unknown == "raise"
        self._options = {"forward": forward, "inference": inference, "backward": backward,
                         "weights": weights, "scale": scale, "cuda_graphs": cuda_graphs,
                         "on_unknown": on_unknown}  # fmt: skip
        self.stats = Stats()
        self._graphs = Graphs() if cuda_graphs else None
        self._solver: Solver | None = None
        self._explainer: Explainer | None = None
        self._progress = Progress(self._backward)
        refuse_unsatisfiable(self.solver)
        for rule in self._backward.leaves:
            rule.check(self.solver)

    @property
    def progress(self) -> float:
        """The share of training that is done, from 0 to 1, for rules that change during training.

        A training loop sets it: `layer.progress = step / total`. The `state_dict` does not hold it.
        """
        return self._progress.value

    @progress.setter
    def progress(self, value: float) -> None:
        self._progress.set(value)

    @property
    def solver(self) -> Solver:
        """The compiled theory, made when first needed, also in a copy or another process."""
        if self._solver is None:
            try:
                self._solver = self.backend.compile(self.theory)
            except AttributeError as error:  # nn.Module would report a missing `solver`
                raise RuntimeError(f"{self.backend!r} failed to compile: {error}") from error
            if self._solver is None:
                raise ArgumentTypeError(
                    f"{self.backend!r}: compile must return a solver. Got None."
                )
        return self._solver

    @untraced  # torch.compile breaks its graph here, quietly
    def forward(
        self, logits: Tensor, known: Tensor | None = None, given: Tensor | None = None
    ) -> Tensor:
        """Returns outputs that satisfy the theory; see the class."""
        flat, mask, facts = self._checked(logits, known, given)
        plan = self._plan()
        if len(flat) <= FEW and not (logits.requires_grad and torch.is_grad_enabled()):
            few = few_outputs(plan, flat, mask, facts)
            if few is not None:
                return few.reshape(*logits.shape[:-1], self.theory.n_outputs)
        captured = None
        if self._graphs is not None and flat.is_cuda:
            captured = self._graphs.find(plan, flat, mask, facts)
        outputs: Tensor = SolveFunction.apply(flat, mask, facts, plan, captured)  # type: ignore[no-untyped-call]
        return outputs.reshape(*logits.shape[:-1], self.theory.n_outputs)

    @untraced
    @torch.no_grad()
    def solve(
        self, logits: Tensor, known: Tensor | None = None, given: Tensor | None = None
    ) -> Solution:
        """Returns the whole answer without gradient: status, inputs after repair, outputs, cost.

        By the same rule as `forward` in the present mode, `train()` or `eval()`. A row whose facts
        leave no model is UNSAT.
        """
        flat, mask, facts = self._checked(logits, known, given)
        refuse_bad(flat, mask, self.theory, facts)
        found = forward_pass(self._plan(), flat, to_signs(flat, mask), facts)
        parts = (found.status, found.inputs, found.outputs, found.cost, found.proved)
        return Solution(*(part.reshape(logits.shape[:-1] + part.shape[1:]) for part in parts))

    @untraced
    @torch.no_grad()
    def possible(
        self, logits: Tensor, known: Tensor | None = None, given: Tensor | None = None
    ) -> Possible:
        """Returns which outputs can be true, and which can be false, given the facts.

        A value is possible if some model has it that agrees with every fact of the row. Only facts
        count: the other logits are predictions, which a model may overrule, so their signs and
        `known` have no effect. Without facts the result is what the theory allows at all.

        A row whose facts leave no model is UNSAT, and none of its values is possible. A row is
        UNKNOWN if the solver gave up on any of its queries. Its possible values are then those that
        a model shows; others may be possible too. With `on_unknown="raise"` it is an error.

        `Table` and `Circuit` answer in one pass. Other backends take up to one query per output and
        one more, for each row with different facts. Nothing is counted in `stats`.

        Args:
            logits: As in `forward`.
            known: As in `forward`; unknown logits may be NaN, as everywhere.
            given: As in `forward`: True where the sign of the logit is a fact.

        Shape:
            - `status`: `(*)` int8; `true` and `false`: `(*, m)` bool.

        Examples:
            >>> import z3
            >>> from smtlayer import one_hot
            >>> wall, move = z3.Bool("wall"), z3.String("move")
            >>> moves = one_hot(move, ["left", "ahead", "right"])
            >>> rule = z3.Implies(wall, move != "ahead")
            >>> layer = SMTLayer(Theory(rule, inputs=[wall], outputs=[moves]))
            >>> layer.possible(torch.tensor([[9.0], [-9.0]]), given=torch.tensor([True])).true
            tensor([[ True, False,  True],
                    [ True,  True,  True]])
        """
        flat, mask, facts = self._checked(logits, known, given)
        refuse_bad(flat, mask, self.theory, facts)
        signs = to_signs(flat, torch.zeros_like(flat, dtype=torch.bool) if facts is None else facts)
        with torch.autocast(logits.device.type, enabled=False):
            found = possible_outputs(self.solver, signs.cpu() if self.solver.on_host else signs)
        if self._raise_unknown:
            refuse_unknown(self.solver, found.status == Status.UNKNOWN)
        parts = (part.to(logits.device) for part in (found.status, found.true, found.false))
        return Possible(*(part.reshape(logits.shape[:-1] + part.shape[1:]) for part in parts))

    @untraced
    @torch.no_grad()
    @interruptible
    def explain(
        self,
        logits: Tensor,
        wanted: Tensor | Mapping[str, Any] | None = None,
        known: Tensor | None = None,
        given: Tensor | None = None,
        *,
        runner_up: bool = False,
        timeout_s: float = 10.0,
    ) -> "Explanations":
        """Explains each row: what was read, whether it fits the theory, and what was overruled.

        Answers are by the inference rule, whatever the present mode; nothing is counted in `stats`.
        On a backend that weighs models, answer and runner-up come with their `probability`, that of
        their outputs given the theory and the facts.

        Args:
            logits: As in `forward`; each row of any batch shape gets an explanation.
            wanted: The expected outputs: signs of shape `(*, m)`, 0 for no opinion (or a bool
                tensor), or values by symbol name, as in `encode_outputs`. The explanation of a row
                then includes whether the reading allows them and, if not, which inputs rule them
                out by which constraints.
            known: As in `forward`.
            given: As in `forward`. Facts are shown as given; they are never overruled or blamed.
            runner_up: Whether to look for the best model with other outputs.
            timeout_s: Time limit of each search for constraints, and of each runner-up. Results
                that were not proved in time are marked.

        Examples:
            >>> import z3
            >>> a, b, y = z3.Bools("a b y")
            >>> rules = {"either": y == z3.Or(a, b), "not both": z3.Not(z3.And(a, b))}
            >>> layer = SMTLayer(Theory(rules, inputs=[a, b], outputs=[y]))
            >>> row = layer.explain(torch.tensor([2.0, 0.5]), wanted={"y": False})[0]
            >>> row.status, row.answer, [o.name for o in row.overruled]
            ('repaired', {'y': True}, ['b'])
            >>> [broken.name for broken in row.conflict.constraints]
            ['not both']
        """
        from smtlayer.explain.ask import Explainer

        flat, mask, facts = self._checked(logits, known, given)
        refuse_bad(flat, mask, self.theory, facts)
        goal = wanted_signs("SMTLayer.explain", "wanted", self.theory, wanted, logits)
        if self._explainer is None:
            self._explainer = Explainer(self.solver, self._inference, self._weights)
        with torch.autocast(logits.device.type, enabled=False):
            return self._explainer.explain(
                flat, to_signs(flat, mask), goal, facts, runner_up=runner_up, timeout_s=timeout_s
            )

    def extra_repr(self) -> str:
        """Theory, backend and rules, for `print(layer)`."""
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f"{self.theory}, backend={self.backend}, {options}"

    def _plan(self) -> Plan:
        forward = self._forward if self.training else self._inference
        return Plan(self.solver, forward, self._backward, self._weights, self._scale,
                    self._raise_unknown, self.stats, self._progress.value,
                    self._progress)  # fmt: skip

    def _checked(
        self, logits: Tensor, known: Tensor | None, given: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Validates logits and masks and returns all of them as (B, n); facts are known."""
        check_logits(logits, self.theory)
        flat = logits.reshape(-1, self.theory.n_inputs)
        mask, facts = flat_mask("known", known, logits), flat_mask("given", given, logits)
        return flat, mask if mask is None or facts is None else mask | facts, facts

    def __prepare_scriptable__(self) -> NoReturn:
        raise RuntimeError(UNTRACEABLE)  # torch.jit.script calls this first

    def __getstate__(self) -> dict[str, Any]:
        graphs = None if self._graphs is None else Graphs()
        return self.__dict__ | {"_solver": None, "_explainer": None, "_graphs": graphs}
