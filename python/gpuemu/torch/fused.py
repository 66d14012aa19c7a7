"""Operators that torch has only for GPUs and selects there. Written here for the CPU: cells of LSTM and GRU, depthwise convolutions,
products and softmax with a result of higher precision than their inputs. The others run by their decomposition, where torch has one.
Norms of 16-bit floats are here too, because the CPU adds up their gradients in 16 bits, and a GPU in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_Tensors = tuple[Any, ...]


def _with_bias(gates: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return gates if bias is None else gates + bias


def lstm_cell(by_input: Any, by_hidden: Any, cell: Any, input_bias: Any = None, hidden_bias: Any = None) -> _Tensors:
    """aten::_thnn_fused_lstm_cell: returns the new hidden state and cell, and the gates, which the gradient needs."""
    gates = _with_bias(by_input, input_bias) + _with_bias(by_hidden, hidden_bias)
    entry, forget, update, output = gates.chunk(4, 1)
    entry, forget, update, output = entry.sigmoid(), forget.sigmoid(), update.tanh(), output.sigmoid()
    following = forget * cell + entry * update
    return output * following.tanh(), following, torch.cat((entry, forget, update, output), 1)


def lstm_cell_gradient(of_hidden: Any, of_cell: Any, cell: Any, following: Any, gates: Any, has_bias: bool) -> _Tensors:
    """aten::_thnn_fused_lstm_cell_backward_impl: returns gradients of the gates, of the previous cell, and of the bias."""
    entry, forget, update, output = gates.chunk(4, 1)
    bent = following.tanh()
    of_output = torch.zeros_like(output) if of_hidden is None else of_hidden * bent
    total = torch.zeros_like(following) if of_hidden is None else of_hidden * output * (1 - bent * bent)
    total = total if of_cell is None else total + of_cell
    of_gates = torch.cat((total * update * entry * (1 - entry), total * cell * forget * (1 - forget), total * entry * (1 - update * update),
                          of_output * output * (1 - output)), 1)  # fmt: skip
    return of_gates, total * forget, of_gates.sum(0) if has_bias else None


def gru_cell(by_input: Any, by_hidden: Any, hidden: Any, input_bias: Any = None, hidden_bias: Any = None) -> _Tensors:
    """aten::_thnn_fused_gru_cell: returns the new hidden state, and the values that the gradient needs."""
    reset, entry, new = _with_bias(by_input, input_bias).chunk(3, 1)
    reset_hidden, entry_hidden, new_hidden = _with_bias(by_hidden, hidden_bias).chunk(3, 1)
    reset, entry = (reset + reset_hidden).sigmoid(), (entry + entry_hidden).sigmoid()
    new = (new + reset * new_hidden).tanh()
    return new + entry * (hidden - new), torch.cat((reset, entry, new, hidden, new_hidden), 1)


def gru_cell_gradient(of_hidden: Any, workspace: Any, has_bias: bool) -> _Tensors:
    """aten::_thnn_fused_gru_cell_backward: returns gradients of the two gates, of the previous hidden state, and of the two
    biases."""
    reset, entry, new, hidden, new_hidden = workspace.chunk(5, 1)
    of_new = of_hidden * (1 - entry) * (1 - new * new)
    of_entry = of_hidden * (hidden - new) * entry * (1 - entry)
    of_reset = of_new * new_hidden * reset * (1 - reset)
    by_input, by_hidden = torch.cat((of_reset, of_entry, of_new), 1), torch.cat((of_reset, of_entry, of_new * reset), 1)
    return by_input, by_hidden, of_hidden * entry, by_input.sum(0) if has_bias else None, by_hidden.sum(0) if has_bias else None


def depthwise(x: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """aten::_conv_depthwise2d and conv_depthwise3d"""
    convolution = torch.nn.functional.conv2d if x.dim() == 4 else torch.nn.functional.conv3d
    return convolution(x, weight, bias, stride, padding, dilation, x.size(1))


def depthwise_gradient(of_result: Any, x: Any, weight: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, mask: Any) -> _Tensors:
    """aten::_conv_depthwise2d_backward and conv_depthwise3d_backward: returns the gradients that the mask selects."""
    wanted = [*mask, False][:3]
    bias = [weight.size(0)] if wanted[2] else None
    made: _Tensors = torch.ops.aten.convolution_backward(of_result, x, weight, bias, stride, padding, dilation, False, [0] * len(stride), x.size(1), wanted)
    return made[: len(mask)]


def _widened(operator: Any) -> Callable[..., Any]:
    """aten::_softmax or _log_softmax; with half_to_float the result for 16-bit floats is float32."""
    return lambda x, dim, half_to_float: operator(x.float() if half_to_float else x, dim, False)


def _narrowed(operator: Any) -> Callable[..., Any]:
    """The gradient of such an operator, in the dtype of its input."""
    return lambda of_result, result, dim, input_type: operator(of_result, result, dim, result.dtype).to(input_type)


def _is_narrow(x: torch.Tensor) -> bool:
    return x.dtype in (torch.float16, torch.bfloat16)


def _in_float32(operator: Any, values: tuple[Any, ...]) -> _Tensors:
    made: _Tensors = operator(*(one.float() if isinstance(one, torch.Tensor) else one for one in values))
    return made


def _norm(operator: Any) -> Callable[..., Any]:
    """aten::native_layer_norm or native_group_norm: the result is like the input, the statistics of 16-bit floats are float32."""

    def run(x: Any, *others: Any) -> Any:
        if not _is_narrow(x):
            return operator(x, *others)
        result, mean, deviation = _in_float32(operator, (x, *others))
        return result.to(x.dtype), mean, deviation

    return run


def _norm_gradient(operator: Any, weight_at: int) -> Callable[..., Any]:
    """The gradient of such an operator; weight_at: the position of the weight."""

    def run(of_result: Any, x: Any, *others: Any) -> Any:
        values = (of_result, x, *others)
        if not _is_narrow(x):
            return operator(*values)
        weight = values[weight_at]
        of_x, of_weight, of_bias = _in_float32(operator, values)
        like = x.dtype if weight is None else weight.dtype
        return (None if of_x is None else of_x.to(x.dtype), *(None if one is None else one.to(like) for one in (of_weight, of_bias)))

    return run


def _product(operator: Any) -> Callable[..., Any]:
    """aten::mm or bmm with the dtype of the result."""
    return lambda x, y, dtype: operator(x.to(dtype), y.to(dtype))


def decomposed(op: Any) -> Callable[..., Any]:
    """Returns a kernel for an operator that torch has only for GPUs: its decomposition, else the error that names it."""
    from torch._decomp import decomposition_table

    if torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd"):
        return op.decompose  # type: ignore[no-any-return]
    known: Callable[..., Any] | None = decomposition_table.get(op)
    if known is not None:
        return known

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"gpuemu: torch has the operator {op.name()} only as machine code for GPUs, which cannot run here: use operators that run on the CPU too")

    return missing


KERNELS: dict[str, Callable[..., Any]] = {
    "_thnn_fused_lstm_cell": lstm_cell, "_thnn_fused_lstm_cell_backward_impl": lstm_cell_gradient, "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_gradient, "_conv_depthwise2d": depthwise, "conv_depthwise3d": depthwise,
    "native_layer_norm": _norm(torch.ops.aten.native_layer_norm), "native_group_norm": _norm(torch.ops.aten.native_group_norm),
    "native_layer_norm_backward": _norm_gradient(torch.ops.aten.native_layer_norm_backward, 5),
    "native_group_norm_backward": _norm_gradient(torch.ops.aten.native_group_norm_backward, 4),
    "mm.dtype": _product(torch.ops.aten.mm), "bmm.dtype": _product(torch.ops.aten.bmm),
    "_softmax": _widened(torch.ops.aten._softmax), "_log_softmax": _widened(torch.ops.aten._log_softmax),
    "_softmax_backward_data": _narrowed(torch.ops.aten._softmax_backward_data),
    "_log_softmax_backward_data": _narrowed(torch.ops.aten._log_softmax_backward_data),
    "_conv_depthwise2d_backward.output_mask": depthwise_gradient, "conv_depthwise3d_backward.output_mask": depthwise_gradient,
}  # fmt: skip
