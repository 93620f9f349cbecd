"""What resources a worker takes of a node, and whether this cluster can ever provide them.

A worker is one actor on one node: its four GPUs cannot be two of one node and two of another.
Requests that can never be met are refused at once, since Ray would wait for them for ever; nodes
that an autoscaler could still add count as available.

Ray's own autoscaler reads what it may add from the file that the head was started with, and so does
this module. An autoscaler that lives elsewhere (Kubernetes) is known by the label of its nodes.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from evaljudge.config import WorkersConfig
from evaljudge.errors import UserError

CONFIG = "--autoscaling-config="
LOGS = "--logs-dir="
NODE_GROUP = "ray.io/node-group"  # the label of nodes that an autoscaler knows
ACCELERATOR = "accelerator_type:"
HEAD = "node:__internal_head__"
CPUS_PER_GPU = 8
"""An engine's own thread, those of the tokenizer and of torch, what reads and writes shards, and on
several GPUs a process for each."""
LABEL = "label:"
GIB = 1 << 30
ROUNDING = 1e-6  # Ray counts in ten thousandths: ten tenths of a GPU are one
Resources = Mapping[str, float]
"""What a node has in all, by Ray's names: `CPU`, `GPU`, `accelerator_type:L4`; and its labels, each
as one of `label:ray.io/market-type=spot`."""


@dataclass(frozen=True)
class NodeGroup:
    """Nodes of one kind that an autoscaler starts when they are wanted."""

    resources: Resources
    most: float = inf


@dataclass(frozen=True)
class Cluster:
    """The nodes that are there, and those that could come."""

    nodes: Sequence[Resources]
    groups: Sequence[NodeGroup] = ()
    most_added: float = inf
    hidden: bool = False
    """There is an autoscaler, and it does not say what it can add (Kubernetes)."""

    @property
    def kinds(self) -> list[Resources]:
        return [*self.nodes, *(group.resources for group in self.groups if group.most > 0)]


@dataclass(frozen=True)
class Placement:
    gpus: float
    cpus: float
    accelerator_type: str | None = None
    selectors: Sequence[Mapping[str, str]] = ()
    memory: float | None = None  # in GiB

    @property
    def ray_options(self) -> dict[str, Any]:
        first, *others = [dict(selector) for selector in self.selectors] or [{}]
        options = {
            "num_cpus": self.cpus,
            "num_gpus": self.gpus,
            "accelerator_type": self.accelerator_type,
            "memory": (self.memory or 0) * GIB,
            "label_selector": first,
            "fallback_strategy": [{"label_selector": other} for other in others],
        }
        return {name: option for name, option in options.items() if option}

    def workers_on(self, node: Resources) -> int:
        """A worker with part of a GPU shares that one only."""
        if self.accelerator_type and not node.get(ACCELERATOR + self.accelerator_type, 0):
            return 0
        if self.selectors and not any(_meets(node, selector) for selector in self.selectors):
            return 0
        most, whole = _times(node.get("CPU", 0), self.cpus), int(node.get("GPU", 0))
        if self.memory and "memory" in node:
            most = min(most, _times(node["memory"], self.memory * GIB))
        if not self.gpus:
            return most
        by_gpus = whole * _times(1, self.gpus) if self.gpus < 1 else _times(whole, self.gpus)
        return min(most, by_gpus)


def place(workers: WorkersConfig, gpus_per_engine: int, cluster: Cluster) -> Placement:
    """What each worker takes; a UserError where `min` of them can never run."""
    gpus, kind = _gpus(workers, gpus_per_engine, cluster), workers.accelerator_type
    placement = Placement(gpus, 1, kind, tuple(workers.selectors), workers.memory)
    cpus = _cpus(workers.max, placement, cluster) if workers.cpus == "auto" else workers.cpus
    placement = replace(placement, cpus=cpus)
    if cluster.hidden:
        return placement
    if not any(map(placement.workers_on, cluster.kinds)):
        keys = {key for selector in placement.selectors for key in selector}
        nodes = "; ".join(dict.fromkeys(_described(node, keys) for node in cluster.kinds))
        raise UserError(
            f"workers: each worker needs {_each(placement)} on one node, and the nodes that this "
            f"cluster has or could add have {nodes}"
        )
    if (most := _most_workers(placement, cluster)) < workers.min:
        raise UserError(
            f"workers.min: {workers.min} workers of {_each(placement)} are to run at once, and "
            f"this cluster has or could add room for {most:g}"
        )
    return placement


def _meets(node: Resources, selector: Mapping[str, str]) -> bool:
    labels = _labels(node)
    return all(_is_chosen(labels.get(key), choice) for key, choice in selector.items())


def _is_chosen(value: str | None, choice: str) -> bool:
    """By Ray's rules: `spot`, `!spot`, `in(L4, L40S)`, `!in(T4)`."""
    wanted = choice.removeprefix("!")
    if wanted.startswith("in("):
        names = [name.strip() for name in wanted[3:-1].split(",")]
    else:
        names = [wanted]
    return (value in names) != choice.startswith("!")


def _labels(node: Resources) -> dict[str, str]:
    named = (name.removeprefix(LABEL).partition("=") for name in node if name.startswith(LABEL))
    return {key: value for key, _, value in named}


def _labelled(resources: Resources, labels: Mapping[str, str]) -> Resources:
    return {**resources, **{f"{LABEL}{key}={value}": 1.0 for key, value in labels.items()}}


def _gpus(workers: WorkersConfig, gpus_per_engine: int, cluster: Cluster) -> float:
    """`auto` looks at the cluster, not at the build that the driver happens to have."""
    if workers.gpus != "auto":
        if gpus_per_engine > 1 and 0 < workers.gpus < gpus_per_engine:
            raise UserError(
                f"workers.gpus: an engine of tensor and pipeline parallel size {gpus_per_engine} "
                f"needs {gpus_per_engine} GPUs, and each worker would have {workers.gpus:g}"
            )
        return float(workers.gpus)
    if any(node.get("GPU", 0) for node in cluster.kinds):
        return float(gpus_per_engine)
    if cluster.hidden:
        raise UserError(
            "workers.gpus: `auto` is unknown here: no node has a GPU now, and this cluster's "
            "autoscaler does not say whether it could add one. Give a number"
        )
    return 0.0


def _cpus(most_workers: int, placement: Placement, cluster: Cluster) -> float:
    """`auto`: as many as an engine uses, unless fewer workers could run then than with one each."""
    gpus = placement.gpus
    largest = max((node.get("CPU", 0) for node in cluster.kinds), default=0)
    most = int(min(largest, CPUS_PER_GPU * max(1, gpus) if gpus else largest))

    def workers_with(cpus: int) -> float:
        return min(most_workers, _most_workers(replace(placement, cpus=cpus), cluster))

    wanted = workers_with(1)
    fitting = (cpus for cpus in range(most, 1, -1) if wanted and workers_with(cpus) == wanted)
    return next(fitting, 1)


def _most_workers(placement: Placement, cluster: Cluster) -> float:
    """How many workers the cluster holds, or could hold. Ray does not say which nodes an autoscaler
    started: those that hold as many workers as a group's are taken for that group's."""
    heads = sum(placement.workers_on(node) for node in cluster.nodes if HEAD in node)
    there = Counter(placement.workers_on(node) for node in cluster.nodes if HEAD not in node)
    could_be = _most_added(placement, cluster)
    kinds = {*there, *could_be} - {0}
    return heads + sum(each * max(there[each], could_be.get(each, 0)) for each in kinds)


def _most_added(placement: Placement, cluster: Cluster) -> dict[int, float]:
    """Nodes that could be added, by how many workers each has room for."""
    held = [(placement.workers_on(group.resources), group.most) for group in cluster.groups]
    most, left = dict[int, float](), cluster.most_added
    for workers, nodes in sorted(held, reverse=True):
        most[workers] = most.get(workers, 0) + min(nodes, left)
        left -= min(nodes, left)
    return most


def _times(has: float, each: float) -> int:
    return int(has / each + ROUNDING)


def _described(node: Resources, keys: Collection[str]) -> str:
    """`keys`: of the labels that are named."""
    kinds = [name.removeprefix(ACCELERATOR) for name in node if name.startswith(ACCELERATOR)]
    counts = " and ".join(f"{node.get(what, 0):g} {what}" for what in ("GPU", "CPU"))
    labels = {key: value for key, value in _labels(node).items() if key in keys}
    return counts + (f" on {kinds[0]}" if kinds else "") + (_with(labels) if labels else "")


def _each(placement: Placement) -> str:
    parts = [f"{placement.gpus:g} GPU"] if placement.gpus else []
    parts.append(f"{placement.cpus:g} CPU")
    if placement.memory:
        parts.append(f"{placement.memory:g} GiB")
    kind = f" on {t}" if (t := placement.accelerator_type) else ""
    return " and ".join(parts) + kind + " or".join(map(_with, placement.selectors))


def _with(labels: Mapping[str, str]) -> str:
    return " with " + ", ".join(f"{key}={value}" for key, value in labels.items())


def ray_cluster() -> Cluster:
    import ray
    import yaml

    alive = [node for node in ray.nodes() if node["Alive"]]
    nodes = [_labelled(node["Resources"], node["Labels"]) for node in alive]
    monitor = _monitor(ray.get_runtime_context().get_session_name())
    if monitor is None:
        return Cluster(nodes, hidden=any(NODE_GROUP in node["Labels"] for node in alive))
    files = [word.removeprefix(CONFIG) for word in monitor if word.startswith(CONFIG)]
    if not files:
        return Cluster(nodes)
    try:
        groups, most = groups_of(yaml.safe_load(Path(files[0]).expanduser().read_text()))
    except (OSError, yaml.YAMLError):
        return Cluster(nodes, hidden=True)
    return Cluster(nodes, groups, most)


def groups_of(config: Mapping[str, Any]) -> tuple[list[NodeGroup], float]:
    most = float(config.get("max_workers", inf))
    groups = [
        NodeGroup(
            _labelled(kind.get("resources") or {}, kind.get("labels") or {}),
            float(kind.get("max_workers", most)),
        )
        for name, kind in config.get("available_node_types", {}).items()
        if name != config.get("head_node_type")
    ]
    return groups, most


def _monitor(session: str) -> list[str] | None:
    """The command line of this Ray's autoscaler, if it runs on this machine: it is known by its log
    in the session's folder, since an address can be written in many ways."""
    import psutil

    for process in psutil.process_iter(["cmdline"]):
        words = list[str](process.info["cmdline"] or [])
        scripts = [word for word in words if word.endswith("/monitor.py")]
        logs = [word for word in words if word.startswith(LOGS) and f"/{session}/" in word]
        if scripts and logs:
            return words
    return None
