"""The boundary as `Impl` knows it: makes a fact's calls in the submission's own process."""

from collections.abc import Mapping
from typing import Any

from harness.facts import Fact
from harness.impl import BadReturn, Call, Crashed, Noted, Raised, Timeout, raise_failure
from harness.sandbox import wire
from harness.sandbox.client import Client, Unhappy
from harness.sandbox.lender import Lender
from harness.source import is_stub, lines_of, mentions, parameters


class Confined:
    """A submission behind a client.

    left_out: why files were not taken, by name. lender: None where there is no reference to lend from.
    """

    def __init__(
        self,
        client: Client,
        sources: Mapping[str, bytes],
        left_out: Mapping[str, str],
        owners: Mapping[str, str],
        lender: Lender | None,
    ) -> None:
        self._client, self._sources, self._left_out = client, sources, left_out
        self._owners, self._lender = owners, lender
        self._lines = {name: lines_of(data) for name, data in sources.items()}
        self._slow_imports: dict[str, str] = {}
        self._imported: set[str] = set()

    def begin(self, fact: Fact, seed: int, lend: bool = False) -> None:
        """A fresh process for one fact; with `lend`, other graded functions are answered by the reference."""
        assert self._lender is not None or not lend
        lent = self._lender.lend(fact.function) if lend and self._lender else None
        self._imported.clear()
        self._client.begin(self._sources, seed, fact.seconds, lent, fact.function)

    def is_stub(self, fact: Fact) -> bool:
        """Whether the function is untouched, so that no process is needed to find out."""
        return is_stub(self._sources.get(fact.module, b""), fact.function)

    def can_lend(self, fact: Fact) -> bool:
        """Whether lending could change the outcome of a fact."""
        source = self._sources.get(fact.module)
        others = set(self._owners) - {fact.function}
        return self._lender is not None and source is not None and mentions(source, others)

    def end(self) -> str:
        """The fact is over; returns what the submission printed."""
        self._client.end()
        return self._client.output.text()

    def parameters(self, call: Call) -> list[str]:
        """The names of a function's parameters, as its source gives them."""
        return parameters(self._sources.get(call.module, b""), call.function)

    def noted(self) -> Noted:
        """What is worth telling of the last call, if the submission can still be asked."""
        try:
            noted = self._client.inquire()
        except (Unhappy, Timeout, Crashed):
            return Noted()
        return Noted(noted.views, noted.generators)

    def invoke(self, how: str, call: Call, wrt: int = 0, keep: tuple[int, ...] = ()) -> Any:
        """Make one call; the module is imported first, on a limit of its own that is charged once."""
        try:
            self._import(call.module)
            return self._client.invoke(how, *call, wrt=wrt, keep=keep)
        except Unhappy as unhappy:
            if isinstance(unhappy.reply, wire.Bad):
                raise BadReturn(unhappy.reply.message) from None
            raise_failure(unhappy.reply, self._lines)

    def _import(self, module: str) -> None:
        if module in self._slow_imports:
            raise Timeout(self._slow_imports[module], cause=f"{module}.py")
        if module in self._imported:
            return
        if module not in self._sources:
            reason = self._left_out.get(f"{module}.py", "it was not handed in")
            raise Raised(f"{module}.py is missing: {reason}", ("ModuleNotFoundError", "ImportError"), f"{module}.py")
        try:
            self._client.import_module(module)
        except Timeout as timeout:
            self._slow_imports[module] = f"importing {module}.py: {timeout}"
            raise Timeout(self._slow_imports[module], timeout.by_load, f"{module}.py") from None
        except Crashed as crashed:
            raise Crashed(f"importing {module}.py: {crashed}", f"{module}.py") from None
        self._imported.add(module)
