"""Device sections under fake CUDA tensors: what they may do is checked without a GPU.

In `fake_device` tensors have shapes, types and devices and no values. torch refuses every operation
that mixes devices or whose shape depends on values. A counter in the same block refuses float64 on
the device where it is not declared, and counts the transfers between host and device.

The device is CUDA wherever torch lets a process without a driver pretend so. Its backward pass and
its own recurrent networks ask the driver; for these the device is "meta", which follows the same
rules: a device of its own, and no values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

CUDA, META = torch.device("cuda", 0), torch.device("meta")
_device, _real = CUDA, False


def device() -> torch.device:
    """The device of the block that is running."""
    return _device


class DeviceRules(TorchDispatchMode):
    """Count transfers (`to_device`, `to_host`) and refuse undeclared float64 on the device."""

    def __init__(self, float64: bool) -> None:
        super().__init__()
        self._float64 = float64
        self.to_device = self.to_host = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {t.device.type for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        for made in tree_leaves(out):
            if not isinstance(made, torch.Tensor):
                continue
            if made.device == _device and given == {"cpu"}:
                self.to_device += 1
            if made.device.type == "cpu" and _device.type in given:
                self.to_host += 1
            if made.device == _device and made.dtype == torch.float64 and not self._float64:
                raise AssertionError(f"{func} makes float64 on the device")
        return out


@contextmanager
def fake_device(kind: torch.device = CUDA, float64: bool = False) -> Iterator[DeviceRules]:
    """A block whose tensors are fake; real ones that are used in it are taken as the host's."""
    modes = FakeTensorMode(allow_non_fake_inputs=True), DeviceRules(float64)
    with _on(kind, real=False), modes[0], modes[1] as rules:
        yield rules


@contextmanager
def real_device(kind: torch.device) -> Iterator[None]:
    """A block whose tensors are real and on the device, the same numbers on every device."""
    torch.manual_seed(0)
    with _on(kind, real=True):
        yield


@contextmanager
def _on(kind: torch.device, real: bool) -> Iterator[None]:
    global _device, _real
    before = _device, _real
    _device, _real = kind, real
    try:
        yield
    finally:
        _device, _real = before


def random_normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Standard normal numbers on the device of the block that is running."""
    if _real:
        return torch.randn(*shape, dtype=dtype).to(_device)
    return torch.randn(*shape, dtype=dtype, device=_device)


def random_integers(low: int, high: int, shape: tuple[int, ...]) -> torch.Tensor:
    """Integers from low to high - 1 on the device of the block that is running."""
    if _real:
        return torch.randint(low, high, shape).to(_device)
    return torch.randint(low, high, shape, device=_device)


def on_device(module: torch.nn.Module) -> torch.nn.Module:
    """The module on the device; with fake parameters where tensors are fake."""
    if _real:
        return module.to(_device)
    for child in module.modules():
        for name, parameter in child._parameters.items():
            if parameter is not None:
                fake = torch.empty(parameter.shape, dtype=parameter.dtype, device=_device)
                child._parameters[name] = torch.nn.Parameter(fake, parameter.requires_grad)
        for name, buffer in child._buffers.items():
            if buffer is not None:
                child._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype, device=_device)
        if isinstance(child, torch.nn.RNNBase):  # its list of weights is another than the modules'
            child._flat_weights = [getattr(child, name) for name in child._flat_weights_names]
    return module


def require_on_device(*results: Any) -> None:
    """Raise AssertionError for a tensor that is not on the device."""
    tensors = [t for t in tree_leaves(results) if isinstance(t, torch.Tensor)]
    assert tensors
    for tensor in tensors:
        assert tensor.device == _device, f"a result {list(tensor.shape)} is on the host"
