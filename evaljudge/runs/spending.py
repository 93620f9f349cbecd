"""What a run has spent of what it may: counted over all its goes, and noted as it goes on.

    spent.json   {"asks": 1204, "tokens": 1320455, "cost": 8.41}

The note also counts what was asked again, and about shards that have no receipt yet.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from evaljudge.errors import CapReached, GivenUp, Unasked, UserError
from evaljudge.execution.budget import Budget
from evaljudge.runs.job import Job, required
from evaljudge.runs.reporting import accounts_of
from evaljudge.storage import SPENT, Claim, Output

NAMES = "asks", "tokens", "cost"
EVERY = 5.0  # seconds between notes


class Spending:
    def __init__(self, job: Job, output: Output, claim: Claim) -> None:
        accounts, noted = accounts_of(job, output), output.kept(SPENT)
        total, cost = accounts.total, accounts.cost.get("money", 0.0)
        done = total["asks"], total["prompt"] + total["generated"], cost
        asks, tokens, money = (
            max(n, noted.get(name, 0)) for name, n in zip(NAMES, done, strict=True)
        )
        self.budget = Budget(required(job.config.most).amounts, (asks, tokens, money))
        self._price, self._output, self._claim = job.price, output, claim
        self._over = threading.Event()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """What is spent in this block is noted; where it was all, the block ends as CapReached."""
        clock = threading.Thread(target=self._keep_noting, name="spending", daemon=True)
        clock.start()
        try:
            if not self.budget.has_room():
                raise Unasked
            yield
        except Unasked:
            if self.budget.has_room():
                raise
            raise CapReached(self._said()) from None
        finally:
            self._over.set()
            clock.join()
            self._note()

    def _keep_noting(self) -> None:
        while not self._over.wait(EVERY):
            with suppress(UserError, GivenUp):  # said at the end
                self._note()

    def _note(self) -> None:
        self._claim.check()
        self._output.keep(SPENT, dict(zip(NAMES, self.budget.spent, strict=True)))

    def _said(self) -> str:
        asks, tokens, cost = self.budget.spent
        money = f" and {self._price.money(cost)}" if self._price else ""
        each = zip(NAMES, self.budget.spent, self.budget.most, strict=True)
        return (
            f"most: {' and '.join(name for name, there, most in each if there >= most)} reached: "
            f"{asks:,.0f} asks, {tokens:,.0f} tokens{money} are spent in all. What was answered is "
            "kept: raise the cap and run it again to go on"
        )
