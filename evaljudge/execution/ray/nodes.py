"""Which nodes Ray has, and which its autoscaler could add.

Ray keeps a place for the autoscaler's node types (`get_cluster_config`), but its own autoscaler
leaves that place empty: the file that the head was started with is asked too. An autoscaler that
lives elsewhere (Kubernetes) shows neither; its names for the nodes show that there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any

from evaljudge.execution.ray.placement import Cluster, NodeGroup

CONFIG = "--autoscaling-config="
LOGS = "--logs-dir="
UNNAMED = "node_"
"""How Ray calls the type of a node that no autoscaler knows."""


def ray_cluster() -> Cluster:
    """As the Ray that we are connected to sees it."""
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if (config := ray._private.state.state.get_cluster_config()) is not None:
        groups = [
            NodeGroup(dict(group.resources), inf if group.max_count < 0 else group.max_count)
            for group in config.node_group_configs
        ]
        return Cluster(nodes, groups)
    monitor = _monitor(ray.get_runtime_context().get_session_name())
    if monitor is None:
        return Cluster(nodes, hidden=any(n and not n.startswith(UNNAMED) for n in _names()))
    files = [word.removeprefix(CONFIG) for word in monitor if word.startswith(CONFIG)]
    return _autoscaled(nodes, Path(files[0]).expanduser()) if files else Cluster(nodes)


def groups_of(config: Mapping[str, Any]) -> tuple[list[NodeGroup], float]:
    """An autoscaler's configuration: what it may start of each kind, and in all."""
    most = float(config.get("max_workers", inf))
    groups = [
        NodeGroup(kind.get("resources") or {}, float(kind.get("max_workers", most)))
        for name, kind in config.get("available_node_types", {}).items()
        if name != config.get("head_node_type")
    ]
    return groups, most


def _autoscaled(nodes: list[Mapping[str, float]], file: Path) -> Cluster:
    import yaml

    try:
        groups, most = groups_of(yaml.safe_load(file.read_text()))
    except (OSError, yaml.YAMLError):
        return Cluster(nodes, hidden=True)
    return Cluster(nodes, groups, most)


def _monitor(session: str) -> list[str] | None:
    """The command line of the process that runs this Ray's autoscaler, if it is on this machine.

    It is known by its log in the session's folder, since an address can be written in many ways.
    """
    import psutil

    for process in psutil.process_iter(["cmdline"]):
        words = list[str](process.info["cmdline"] or [])
        scripts = [word for word in words if word.endswith("/monitor.py")]
        logs = [word for word in words if word.startswith(LOGS) and f"/{session}/" in word]
        if scripts and logs:
            return words
    return None


def _names() -> Iterator[str]:
    """What the types of the nodes are called, by either of Ray's autoscalers."""
    from ray._private.ray_constants import DEBUG_AUTOSCALING_STATUS
    from ray._private.worker import global_worker
    from ray.core.generated.autoscaler_pb2 import GetClusterStatusReply

    gcs = global_worker.gcs_client
    status = json.loads(gcs.internal_kv_get(DEBUG_AUTOSCALING_STATUS.encode(), None) or b"{}")
    yield from (status.get("autoscaler_report") or {}).get("active_nodes") or {}
    reply = GetClusterStatusReply.FromString(gcs.get_cluster_status())
    yield from (node.ray_node_type_name for node in reply.cluster_resource_state.node_states)
