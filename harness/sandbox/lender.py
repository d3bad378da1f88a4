"""Trusted answers for a submission's own helpers: a wrong `dpo_loss` then costs only `dpo_loss`'s marks.

The reference runs here, in the grader's process, and is imported when it is first needed; none of its source enters the
process of a submission.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.local import sources_of
from harness.sandbox import wire
from harness.sandbox.client import Lend
from harness.tree import Tree


class Lender:
    """The reference's functions. owners: the module of each graded function."""

    def __init__(self, reference: Path, owners: Mapping[str, str]) -> None:
        self._reference, self._owners = reference, owners
        self._tree: Tree | None = None

    def lend(self, but: str) -> Lend:
        """Every graded function, but for the one under test."""
        return Lend([name for name in self._owners if name != but], self._answering, self._with_derivatives)

    def _function(self, name: str) -> Callable[..., Any]:
        if self._tree is None:
            self._tree = Tree(sources_of(self._reference))
        function: Callable[..., Any] = getattr(self._tree.module(self._owners[name]), name)
        return function

    def _answering(self, name: str) -> Callable[..., Any]:
        function = self._function(name)
        return lambda *arguments, **keywords: function(
            *map(_with_tensors, arguments), **{key: _with_tensors(value) for key, value in keywords.items()}
        )

    def _with_derivatives(self, name: str) -> Callable[..., Any]:
        """The value, gradient and Hessian of a loss in its first argument."""
        import torch

        loss = self._answering(name)

        def answer(logits: wire.Tensor, *arguments: Any, **keywords: Any) -> tuple[Any, ...]:
            at = torch.tensor(logits.values, dtype=torch.float64, requires_grad=True)
            value = loss(at, *arguments, **keywords)
            (gradient,) = torch.autograd.grad(value, at, create_graph=True)
            rows = [
                torch.autograd.grad(entry, at, retain_graph=True)[0] if entry.requires_grad else torch.zeros_like(at)
                for entry in gradient
            ]
            return value.item(), gradient.detach().numpy(), torch.stack(rows).numpy()

        return answer


def _with_tensors(value: Any) -> Any:
    """Tensors of the wire become torch's."""
    if isinstance(value, wire.Tensor):
        import torch

        return torch.from_numpy(value.values)
    return value
