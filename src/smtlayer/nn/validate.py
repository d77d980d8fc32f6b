"""Validation of the tensors given to a layer, with errors that say what to call instead."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.theory import Theory

UNTRACEABLE = (
    "SMTLayer calls a solver, which cannot become part of a graph. Export or script the network in "
    "front of the layer, and call the layer on its logits. torch.compile needs fullgraph=False."
)
_WIDE = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_logits(logits: Tensor, theory: Theory) -> None:
    """Raises unless logits are an ordinary float tensor with one column per theory input."""
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise ArgumentTypeError(
            f"SMTLayer expects logits as a floating-point tensor. {_remedy(logits)}"
        )
    if logits.dtype not in _WIDE:
        raise ArgumentTypeError(
            f"SMTLayer expects logits of at least 16 bits. Got {logits.dtype}. "
            f"Call layer(logits.float())."
        )
    check_plain(logits, "logits")
    n = theory.n_inputs
    if logits.ndim == 0 or logits.shape[-1] != n:
        names = ", ".join(theory.input_names[:3]) + (", ..." if n > 3 else "")
        raise ArgumentError(
            f"SMTLayer expects logits of shape (batch, {n}), one column per theory input "
            f"({names}). Got {tuple(logits.shape)}."
        )


def check_plain(values: Tensor, name: str) -> None:
    """Raises unless a tensor is dense and has values."""
    refuse_transformed(values)
    if values.is_nested:
        raise ArgumentTypeError(
            f"SMTLayer expects dense {name}. Got a nested tensor. Call the layer on "
            f"torch.cat({name}.unbind())."
        )
    if values.layout != torch.strided:
        raise ArgumentTypeError(
            f"SMTLayer expects dense {name}. Got a tensor of layout {values.layout}. "
            f"Call layer({name}.to_dense())."
        )
    if type(values) is Tensor and not values.is_meta:
        return
    if torch.compiler.is_exporting():
        raise RuntimeError(UNTRACEABLE)
    if values.is_meta or isinstance(values, torch._subclasses.FakeTensor):
        raise RuntimeError(
            f"SMTLayer needs the values of its {name}, and a meta or fake tensor has none. Load "
            f"the network on a real device first."
        )


def flat_mask(name: str, mask: Tensor | None, logits: Tensor) -> Tensor | None:
    """A mask of the logits, validated and broadcast, as (B, n); None stays None."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise ArgumentTypeError(f"SMTLayer expects {name} as a bool tensor. Got {kind}.")
    check_plain(mask, name)
    try:
        return mask.to(logits.device).expand(logits.shape).reshape(-1, logits.shape[-1])
    except RuntimeError as error:
        raise ArgumentError(
            f"SMTLayer expects {name} of the logits' shape {tuple(logits.shape)}. "
            f"Got {tuple(mask.shape)}."
        ) from error


def refuse_transformed(values: Tensor) -> None:
    """Raises for tensors inside vmap, torch.func.grad and other function transforms."""
    functorch = torch._C._functorch
    if functorch.is_batchedtensor(values) or functorch.is_legacy_batchedtensor(values):
        raise RuntimeError(
            "SMTLayer cannot run inside vmap or compute batched gradients: a solver needs the "
            "values of all rows. Call the layer outside vmap, as it takes any leading batch "
            "dimensions; use jacobian(vectorize=False) and grad(is_grads_batched=False)."
        )
    if functorch.is_functorch_wrapped_tensor(values):
        raise RuntimeError(
            "SMTLayer cannot run inside torch.func transforms (grad, vjp, jvp, jacrev): its "
            "gradient is not the derivative of its outputs. Use loss.backward() or "
            "torch.autograd.grad."
        )


def wanted_signs(
    who: str, name: str, theory: Theory, wanted: Tensor | Mapping[str, Any] | None, logits: Tensor
) -> Tensor:
    """The wanted outputs, an argument of this name, as signs: (B, m) int8; 0 for no opinion."""
    if isinstance(wanted, Mapping):
        for symbol in wanted:
            if not isinstance(symbol, str):
                raise ArgumentTypeError(
                    f"{who} expects {name} by symbol name, as strings. Got {symbol!r}."
                )
        wanted = theory.encode_outputs(**wanted)
    elif wanted is None:
        wanted = torch.zeros(theory.n_outputs, dtype=torch.int8, device="cpu")
    if not isinstance(wanted, Tensor):
        raise ArgumentTypeError(
            f"{who} expects {name} as a tensor of signs, or as a mapping of values by "
            f"symbol name. Got {type(wanted).__name__}."
        )
    check_plain(wanted, name)
    shape = (*logits.shape[:-1], theory.n_outputs)
    try:
        if wanted.shape[-1:] != shape[-1:]:
            raise RuntimeError("a single column would be expanded")
        given = wanted.detach().to(logits.device).expand(shape).reshape(-1, theory.n_outputs)
    except RuntimeError as error:
        raise ArgumentError(
            f"{who} expects {name} of shape {shape}, one column per theory output. "
            f"Got {tuple(wanted.shape)}."
        ) from error
    signs = torch.where(given, 1, -1) if given.dtype == torch.bool else given
    odd = (signs != 0) & (signs.abs() != 1)
    if odd.any():
        raise ArgumentError(
            f"{who} expects {name} as signs: 1 for true, -1 for false, 0 for no "
            f"opinion. Got {signs[odd][0].item()!r}."
        )
    return signs.to(torch.int8)


def _remedy(logits: object) -> str:
    """Describes an argument that is not a float tensor, and how to convert it."""
    if not isinstance(logits, Tensor):
        kind = type(logits).__name__
        if kind == "Proxy":
            return "Got a Proxy of torch.fx. Use a Tracer for which SMTLayer is a leaf module."
        return f"Got {kind}. Call layer(torch.as_tensor(logits, dtype=torch.float32))."
    if logits.is_complex():
        return f"Got {logits.dtype}. Call layer(logits.real)."
    way = "dequantize" if logits.is_quantized else "float"
    return f"Got {logits.dtype}. Call layer(logits.{way}())."
