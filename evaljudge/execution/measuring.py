"""What a worker does to measure one shard: every candidate's number, then the shard's commit.

The worker that judges a shard commits with its verdicts what metrics that load nothing (`is_light`)
say; the stage `measure` does all else, and what that worker could not.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from evaljudge.execution.attempts import Attempt, Here
from evaljudge.execution.protocol import Measuring, Receipt
from evaljudge.metrics import Metric, Unscored, Value
from evaljudge.metrics.protocol import values_of
from evaljudge.reasons import by_kind
from evaljudge.records import ANY_AXIS, Case, Score
from evaljudge.storage import Shard
from evaljudge.text import is_not_expected

WORKER_DIED = Unscored("worker died")
Signatures = Mapping[str, str]


class MeasuringWork:
    def __init__(self, measuring: Measuring, here: Here) -> None:
        self._measuring, self._here = measuring, here
        self._output, self._since = measuring.output, time.monotonic()

    def measure(self, shard: Shard, names: Sequence[str]) -> Receipt:
        """Data first, marker last."""
        attempt = Attempt(f"measure-{shard.number:05d}", self._here)
        cases, unscored = self._output.cases(shard), list[str]()
        has_some = shard.number in self._measuring.begun
        measured = self._output.keep_measures(shard, names) if has_some else {}
        for metric in self._measuring.metrics:
            if metric.name in names:
                if attempt.is_first:
                    each = values_of(metric, cases)
                else:  # one by one, as a worker died of that
                    each = [_values_alone(metric, case, attempt) for case in cases]
                scores = _scores_of(metric, cases, each, self._measuring.signatures)
                absent = (score.reason for score in scores if score.value is None)
                unscored += [reason for reason in absent if not is_not_expected(reason)]
                self._output.write_measures(metric.name, shard, scores)
                measured[metric.name] = self._measuring.signatures[metric.name]
        receipt = {
            "stage": "measure",
            "shard": shard.number,
            "cases": shard.cases,
            "unscored": len(unscored),
            "reasons": by_kind(unscored),
            "files": [f"measures/{metric}/{shard.file}" for metric in measured],
            "measured": measured,
            "worker": self._here.worker,
            "worker_seconds": round(time.monotonic() - self._since, 3),
            "gpus": 0,
        }
        self._output.commit("measure", shard, receipt)
        attempt.end()
        return receipt


def measured_beside(
    metrics: Sequence[Metric], cases: Sequence[Case], signatures: Signatures
) -> dict[str, list[Score]]:
    """The scores of each metric that can be measured; the stage `measure` says why one cannot."""
    measured = dict[str, list[Score]]()
    for metric in metrics:
        with suppress(Exception):
            measured[metric.name] = _scores_of(metric, cases, values_of(metric, cases), signatures)
    return measured


def _scores_of(
    metric: Metric, cases: Sequence[Case], each: Iterable[list[Value]], signatures: Signatures
) -> list[Score]:
    texts = [(case.document.doc_id, text.system) for case in cases for text in case.candidates]
    key, signature = (metric.name, ANY_AXIS), signatures[metric.name]
    return [
        Score(*text, *key, None, value.reason, signature)
        if isinstance(value, Unscored)
        else Score(*text, *key, value, "", signature)
        for text, value in zip(texts, chain.from_iterable(each), strict=True)
    ]


def _values_alone(metric: Metric, case: Case, attempt: Attempt) -> list[Value]:
    of_metric = f"{metric.name} {case.document.doc_id}"
    if of_metric in attempt.quarantined:
        return [WORKER_DIED for _ in case.candidates]
    with attempt.alone(of_metric):
        return values_of(metric, [case])[0]
