"""How a run's shards get done: the work of a shard, and the two executors that do it.

The rest of evaljudge knows an `Executor` only, and which one a configuration means:

workers: {executor: local}    in this process, over one engine; no Ray is started
workers: {executor: ray}      by worker actors: on the cluster at hand, or a Ray started here
workers: {executor: auto}     Ray where there is a cluster or where the configuration asks for
                              more than one process can give; otherwise local
"""

import os
import sys
from typing import Literal

from evaljudge.config import WorkersConfig
from evaljudge.errors import needing
from evaljudge.execution.protocol import Executor


def executor_name(workers: WorkersConfig) -> Literal["local", "ray"]:
    if workers.executor != "auto":
        return workers.executor
    return "ray" if workers.needs_ray or is_on_a_cluster() else "local"


def make_executor(workers: WorkersConfig, out: str) -> Executor:
    if executor_name(workers) == "local":
        from evaljudge.execution.local import LocalExecutor

        return LocalExecutor(out)
    from evaljudge.execution.ray.executor import RayExecutor

    with needing(f"workers: {workers.needs_ray or '`executor: ray`'}", "ray"):
        return RayExecutor(workers)


def is_on_a_cluster() -> bool:
    """An address is set, this is a submitted job, or this process is connected already."""
    named = any(os.environ.get(name) for name in ("RAY_ADDRESS", "RAY_JOB_CONFIG_JSON_ENV_VAR"))
    ray = sys.modules.get("ray")
    return named or (ray is not None and ray.is_initialized())
