"""What a run cost and what it must be warned of: the sums of its committed receipts.

    accounts.costs(documents=100, scores={("synthetic", "fluency"): 1597})
    ->  [CostRow("judge", "synthetic", "fluency", asks=8000, …, seconds=61.3, …), …]

One engine answers for all judges and axes at once, so seconds cannot be measured apart: what each
worker took in all, loading its model included, is divided in proportion to the tokens that it
computed for each stage, judge and axis.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self, TypeVar

from evaljudge.model.counting import Masses
from evaljudge.records import Tokens

Receipt = Mapping[str, Any]
Part = tuple[str, str, str]  # a stage, a judge and an axis
Parts = dict[Part, Tokens]
T = TypeVar("T")
LOW_MEAN_MASS = 0.5
MANY_CUT = 0.1
LARGE_BLOCK, LITTLE_SHARED = 128, 0.1
"""A block of the prefix cache larger than in models whose layers are all attention; a share of the
prompt tokens that can be served from it."""
COUNTED = "asks requests prompt cached prefilled generated floor further".split()


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one judge cost on one axis in one stage; seconds are its share of the workers' time.

    `documents` and `scores` are what it is a cost of: all stages have the same, to be divided by.
    """

    stage: str
    judge: str
    axis: str
    asks: int
    requests: int
    prompt: int
    prefilled: int
    generated: int
    further: int  # prompt tokens of an ask's second request and on
    seconds: float
    gpu_seconds: float
    documents: int
    scores: int
    for_tokens: float = 0.0  # money, beside what the seconds cost


@dataclass(frozen=True, slots=True)
class Price:
    """What an hour of a GPU, and an hour of a worker, costs."""

    per_gpu_hour: float = 0
    per_worker_hour: float = 0
    currency: str = "USD"
    per_million: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """What each judge's model takes for a million tokens in each stage (`judge synthetic`), as
    `Tokens.priced` has it."""

    def __bool__(self) -> bool:
        return bool(self.by_hour or self.per_million)

    @property
    def by_hour(self) -> bool:
        return bool(self.per_gpu_hour or self.per_worker_hour)

    def __str__(self) -> str:
        per = {"GPU-hour": self.per_gpu_hour, "worker-hour": self.per_worker_hour}
        said = [f"{n:g} {self.currency} per {unit}" for unit, n in per.items() if n]
        for prompt, _, generated in dict.fromkeys(map(tuple, self.per_million.values())):
            tokens = f"{prompt:g} {self.currency} per million prompt tokens"
            said.append(f"{tokens}, {generated:g} {self.currency} per million generated")
        return " and ".join(said)

    def of_row(self, row: CostRow) -> float:
        return self.of(row.seconds, row.gpu_seconds) + row.for_tokens

    def of_tokens(self, stage: str, judge: str, tokens: Tokens) -> float:
        return tokens.priced(self.per_million.get(f"{stage} {judge}", (0, 0, 0)))

    def of(self, worker_seconds: float, gpu_seconds: float) -> float:
        by_hour = worker_seconds * self.per_worker_hour + gpu_seconds * self.per_gpu_hour
        return by_hour / 3600

    def money(self, amount: float) -> str:
        """Amounts below 1 keep three digits, so that a small run does not cost 0.00."""
        figures = f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.3g}"
        return f"{figures} {self.currency}"


NO_PRICE = Price()


class Accounts:
    def __init__(self, receipts: Iterable[Receipt], price: Price = NO_PRICE) -> None:
        self._price = price
        self._tokens = defaultdict[tuple[str, str], Tokens](Tokens)
        self._masses = defaultdict[str, Masses](Masses)
        self._workers: dict[str, tuple[float, float]] = {}
        """Seconds that each worker has lived, and its GPUs."""
        self._parts: dict[str, Parts] = {}
        self._by_block = defaultdict[int, Tokens](Tokens)
        """Tokens by the block size of the engine's prefix cache, where the receipt has one."""
        self._repeated = Counter[str]()  # what workers did of shards, and others committed
        for receipt in receipts:
            self.add(receipt)

    def add(self, receipt: Receipt) -> None:
        stage, worker, gpus = receipt["stage"], receipt["worker"], receipt["gpus"]
        lived, _ = self._workers.get(worker, (0.0, gpus))
        self._workers[worker] = (max(lived, receipt["worker_seconds"]), gpus)
        self._repeated.update(receipt.get("repeated", {}))
        parts = self._parts.setdefault(worker, defaultdict(Tokens))
        for judge, asked in receipt["asked"].items():
            self._tokens[stage, judge] += Tokens(**asked["tokens"])
            if receipt["cache_block"] is not None:
                self._by_block[receipt["cache_block"]] += Tokens(**asked["tokens"])
            self._masses[judge] += Masses(**asked["masses"])
            for axis, tokens in asked["axes"].items():
                parts[stage, judge, axis] += Tokens(**tokens)

    def __iadd__(self, other: "Accounts") -> Self:
        _add(self._tokens, other._tokens)
        _add(self._by_block, other._by_block)
        for judge, masses in other._masses.items():
            self._masses[judge] += masses
        for worker, (lived, gpus) in other._workers.items():
            before, _ = self._workers.get(worker, (0.0, gpus))
            self._workers[worker] = (max(before, lived), gpus)
            _add(self._parts.setdefault(worker, defaultdict(Tokens)), other._parts[worker])
        self._repeated.update(other._repeated)
        return self

    @property
    def tokens(self) -> list[dict[str, Any]]:
        return [
            {"stage": stage, "judge": judge} | {name: getattr(tokens, name) for name in COUNTED}
            for (stage, judge), tokens in sorted(self._tokens.items(), key=lambda row: row[0][::-1])
        ]

    @property
    def total(self) -> dict[str, int]:
        rows = self.tokens
        return {name: sum(row[name] for row in rows) for name in COUNTED}

    @property
    def cost(self) -> dict[str, Any]:
        seconds = sum(s for s, _ in self._workers.values())
        gpu_seconds = sum(s * gpus for s, gpus in self._workers.values())
        hours = round(gpu_seconds / 3600, 6)
        cost: dict[str, Any] = {"worker_seconds": round(seconds, 1), "gpu_hours": hours}
        if self._repeated:
            cost["repeated"] = {name: round(n, 1) for name, n in self._repeated.items()}
        if not self._price:
            return cost
        of_tokens = (self._price.of_tokens(*part, tokens) for part, tokens in self._tokens.items())
        money = round(self._price.of(seconds, gpu_seconds) + sum(of_tokens), 6)
        price = {name: value for name, value in asdict(self._price).items() if value != {}}
        return cost | {"money": money, "price": price}

    def costs(self, documents: int, scores: Mapping[tuple[str, str], int]) -> list[CostRow]:
        """A row per stage, judge and axis; `scores`: how many each judge gave on each axis."""
        parts, shares = _together(self._parts.values()), self._shares()
        rows = []
        for stage, judge, axis in sorted(parts, key=lambda part: (part[1:], part[0])):
            t, (seconds, gpu_seconds) = parts[stage, judge, axis], shares[stage, judge, axis]
            tokens = (t.asks, t.requests, t.prompt, t.prefilled, t.generated, t.further)
            times = (round(seconds, 3), round(gpu_seconds, 3))
            sizes = (documents, scores.get((judge, axis), 0))
            money = round(self._price.of_tokens(stage, judge, t), 6)
            rows.append(CostRow(stage, judge, axis, *tokens, *times, *sizes, money))
        return rows

    def _shares(self) -> dict[Part, tuple[float, float]]:
        """Each part's share of all workers' seconds, and of their GPU seconds.

        The seconds of a worker that computed nothing are divided as all that was computed is.
        """
        everything = _together(self._parts.values())
        shares = dict.fromkeys(everything, (0.0, 0.0))
        for worker, (seconds, gpus) in self._workers.items():
            parts = self._parts[worker]
            divided = parts if any(map(_computed, parts.values())) else everything
            whole = sum(map(_computed, divided.values()))
            for part, tokens in divided.items():
                share = seconds * _computed(tokens) / whole if whole else 0.0
                shares[part] = (shares[part][0] + share, shares[part][1] + share * gpus)
        return shares

    @property
    def mass(self) -> dict[str, dict[str, float]]:
        """Per judge: the mean mass that its options captured, and how often it was low; and the
        most that was left out of any reply (see `Chosen.left_out`)."""
        return {
            judge: {
                "mean": m.total / m.choices,
                "low_share": m.low / m.choices,
                "left_out": m.left_out,
                **({"thoughts": m.thoughts, "thoughts_cut": m.cut} if m.thoughts else {}),
            }
            for judge, m in self._masses.items()
            if m.choices
        }

    @property
    def warnings(self) -> list[str]:
        cut = [
            f"{judge}: {m.cut:,} of {m.thoughts:,} thoughts were cut, and closed for the model: "
            "let it think longer, `thinking: {tokens: …}`"
            for judge, m in self._masses.items()
            if m.cut > MANY_CUT * m.thoughts
        ]
        return cut + [
            f"{judge}: the answers offered hold only {mass['mean']:.1%} of the model's "
            "probability on average, so it mostly wants to say something else. First suspect: a "
            "model that thinks before it answers; name what must stand before its answers: "
            "`model: {source: …, reply: …}`."
            for judge, mass in self.mass.items()
            if mass["mean"] < LOW_MEAN_MASS
        ]

    @property
    def cost_warnings(self) -> Iterator[str]:
        price, cost = self._price, self.cost
        unpriced = price.per_gpu_hour and not (price.per_worker_hour or cost["gpu_hours"])
        if unpriced and cost["worker_seconds"]:
            yield (
                "workers.price_per_gpu_hour: no worker had a GPU, so their time costs nothing "
                "here; what a machine without one costs is `price_per_worker_hour`"
            )
        for block, tokens in self._by_block.items():
            shared = 1 - tokens.floor / max(1, tokens.prompt)
            if tokens.prompt and not block:
                yield (
                    f"the engine keeps no prefixes (`enable_prefix_caching: false`, or vLLM keeps "
                    f"none of such a model): each of {tokens.prompt:,} prompt tokens was computed"
                )
            elif tokens.prompt and block > LARGE_BLOCK and shared < LITTLE_SHARED:
                yield (
                    f"the engine shares prefixes in blocks of {block:,} tokens, as hybrid models "
                    f"have them, and prompts have {tokens.prompt // tokens.requests:,} on average: "
                    f"at most {shared:.0%} of {tokens.prompt:,} prompt tokens can be shared"
                )


def _computed(tokens: Tokens) -> int:
    """What seconds are divided by: a generated token counts as much as a prefilled one, since both
    go through the whole model once, and receipts do not say how many are generated at once."""
    return tokens.prefilled + tokens.generated


def _together(some: Iterable[Parts]) -> Parts:
    sums: Parts = defaultdict(Tokens)
    for parts in some:
        _add(sums, parts)
    return sums


def _add(total: dict[T, Tokens], more: Mapping[T, Tokens]) -> None:
    for name, tokens in more.items():
        total[name] += tokens
