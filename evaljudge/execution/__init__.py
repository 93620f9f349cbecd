"""How a run's shards get done: the work of a shard, and the two executors that do it.

`local.py` works in this process, `ray/` has Ray's workers do the same work. Both are an `Executor`
(executor.py), and the rest of evaljudge knows nothing else of them.
"""

from __future__ import annotations

from evaljudge.execution.executor import Executor, executor_name, make_executor

__all__ = ["Executor", "executor_name", "make_executor"]
