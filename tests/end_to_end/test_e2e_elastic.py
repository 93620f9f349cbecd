"""Machines that come and go: workers follow the load, and what a lost node had is done elsewhere.

The runs lie on S3, over HTTP. Ray's own autoscaler starts and ends the nodes, by its fake provider:
each node is processes on this machine. `ray.cluster_utils.AutoscalingCluster` is not used, for it
begins and ends with `ray stop --force`, which ends every other Ray of this machine too.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest

from evaljudge.execution.ray.board import EVERY
from evaljudge.storage import Output, Stage
from tests.end_to_end import killing, shared

pytestmark = pytest.mark.ray

CASES = 400
QUICK = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
"""How soon Ray takes a silent node for lost; a quarter of a minute else."""
HEAD = "node:__internal_head__"
Row = dict[str, Any]


class Nodes:
    """The nodes of a Ray, seen from outside: a driver here would be one more that might be lost."""

    def __init__(self, address: str) -> None:
        from ray._private.state import GlobalState
        from ray._raylet import GcsClientOptions

        self.address, self._state = address, GlobalState()
        self._state._initialize_global_state(
            GcsClientOptions.create(
                address, None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=False
            )
        )

    def alive(self) -> set[str]:
        """All but the head."""
        nodes = self._state.node_table()
        return {n["NodeID"] for n in nodes if n["Alive"] and HEAD not in n["Resources"]}


class Run(killing.Run):
    def __init__(
        self, folder: Path, pause: float, workers: Row, ray: str = "", bucket: Any = None
    ) -> None:
        on_ray = {"RAY_ADDRESS": ray}
        super().__init__(folder, shared.cases(CASES), pause, on_ray, bucket, workers=workers)

    def wait_for(self, holds: Callable[[], bool], what: str) -> None:
        self.command.wait_until(lambda: self.command.ended or holds(), what)
        assert holds(), f"ended without {what}: {self.command.said()}"

    @property
    def workers(self) -> set[str]:
        """Those that committed something."""
        output, stages = Output(self.config["out"]), get_args(Stage)
        return {receipt["worker"] for stage in stages for receipt in output.receipts(stage)}

    def have_committed(self, documents: set[str]) -> bool:
        """All shards with any of these documents are done."""
        done = self.command.committed()["judge"]
        return all(home in done for home in map(self.homes.__getitem__, documents))

    @cached_property
    def homes(self) -> dict[str, int]:
        """The shard in which each document lies, by its number in the source."""
        output = Output(self.config["out"])
        return {
            doc_id.removeprefix("d"): shard.number
            for shard in output.shards()
            for doc_id in output.documents(shard)
        }

    def whole(self) -> Row:
        """Its tables; of its files, those of a finished run and no other are there."""
        out = self.out
        assert shared.files(out) == shared.contract(out)
        return shared.tables(out)


@pytest.fixture(scope="module", autouse=True)
def adopting():
    with killing.adopting():
        yield


@pytest.fixture
def begin(tmp_path, s3):
    return lambda ray, pause, workers: Run(tmp_path, pause, workers, ray, s3)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, adopting):
    """What the same run comes to on a Ray of its own."""
    run = Run(tmp_path_factory.mktemp("undisturbed"), 0, {})
    run.command.start()
    run.command.end()
    return run.whole()


@pytest.fixture
def autoscaled(tmp_path, s3):
    """A Ray whose head does no work, and whose autoscaler may start three nodes."""
    import ray

    port, clients, agent = free_ports(3)
    address = f"{ray.util.get_node_ip_address()}:{port}"
    file = tmp_path / "autoscaling.json"
    file.write_text(json.dumps(autoscaling(address)))
    command = [
        Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--num-cpus=0",
        f"--port={port}", f"--ray-client-server-port={clients}",
        f"--dashboard-agent-listen-port={agent}", "--include-dashboard=false",
        "--disable-usage-stats", f"--autoscaling-config={file}",
    ]  # fmt: skip
    environment = {
        "RAY_FAKE_CLUSTER": "1",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "RAY_AUTH_MODE": "disabled",  # else it depends on what this machine did before
    }
    with (tmp_path / "ray").open("w") as said:
        head = psutil.Popen(
            list(map(str, command)), env=os.environ | environment, stdout=said, stderr=said
        )
    wait_for_port(port)
    yield Nodes(address)
    for process in [head, *head.children(recursive=True)]:
        process.kill()
    head.wait()


def autoscaling(address: str) -> Row:
    """What `ray up` would give the head, as far as Ray's fake provider reads it."""
    from ray.autoscaler._private.fake_multi_node.node_provider import (
        FAKE_HEAD_NODE_ID,
        FAKE_HEAD_NODE_TYPE,
    )

    empty: Row = {
        "auth": {}, "docker": {}, "file_mounts": {}, "file_mounts_sync_continuously": False,
        "cluster_synced_files": [], "rsync_exclude": [], "rsync_filter": [],
        "initialization_commands": [], "setup_commands": [], "head_setup_commands": [],
        "worker_setup_commands": [], "head_start_ray_commands": [],
        "worker_start_ray_commands": [],
    }  # fmt: skip
    provider = {
        "type": "fake_multinode", "gcs_address": address, "head_node_id": FAKE_HEAD_NODE_ID,
        "use_node_id_as_ip": True, "disable_node_updaters": True,
        "disable_launch_config_check": True, "launch_multiple": True,
    }  # fmt: skip
    worker = {"resources": {"CPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": 3}
    head = {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0}
    return empty | {
        "cluster_name": "fake", "provider": provider, "max_workers": 3, "upscaling_speed": 1.0,
        "idle_timeout_minutes": 0.2, "head_node_type": FAKE_HEAD_NODE_TYPE,
        "available_node_types": {FAKE_HEAD_NODE_TYPE: head, "worker": worker},
    }  # fmt: skip


@pytest.fixture
def cluster(s3):
    """A Ray whose head has room for one worker; who joins it is said by the test."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": QUICK}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    yield cluster
    cluster.shutdown()


def kill_raylet(node: Any) -> None:
    """All that is left of the node ends by itself, as it would when a machine is taken away."""
    (raylet,) = node.all_processes["raylet"]
    raylet.process.kill()
    raylet.process.wait()


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_for_port(port: int) -> None:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex((socket.gethostname(), port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"no Ray at port {port}")


@pytest.mark.long
def test_workers_follow_the_load(autoscaled, begin, undisturbed):
    run = begin(autoscaled.address, 5, {"min": 1, "max": 3, "cpus": 1})
    assert not autoscaled.alive()

    run.command.start()
    run.wait_for(lambda: len(autoscaled.alive()) == 3, "the third node")
    run.command.end()
    assert len(run.workers) >= 2  # a machine that is busy has the third node when little is left

    run.command.wait_until(lambda: not autoscaled.alive(), "the end of every node")
    assert run.whole() == undisturbed


@pytest.mark.long
@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "not replaced"])
def test_what_a_lost_node_had_is_done_elsewhere(replaced, cluster, begin, undisturbed):
    run = begin(cluster.address, 2, {"min": 1, "max": 2, "cpus": 1})
    run.command.start()  # now, so that it is a driver on the head
    run.wait_for(lambda: len(run.workers) == 1, "a worker on the head")
    lost = cluster.add_node(num_cpus=1)
    run.wait_for(lambda: len(run.workers) == 2, "a worker on the node that joined")

    kill_raylet(lost)
    if replaced:
        cluster.add_node(num_cpus=1)  # on a busy machine it may come when little is left
    run.command.end()

    prompts = [ask.prompt for ask in shared.asks(run.log)]
    assert len(prompts) > len(set(prompts)), "nothing was lost"
    assert run.whole() == undisturbed


@pytest.mark.long
def test_a_node_that_is_to_go_ends_its_shards_and_begins_no_other(cluster, begin, undisturbed):
    """As Kubernetes and a cloud announce it: `ray start --block` and `ray drain-node` drain it."""
    run = begin(cluster.address, 2, {"min": 1, "max": 2, "cpus": 1})
    run.command.start()
    run.wait_for(lambda: len(run.workers) == 1, "a worker on the head")
    leaving = cluster.add_node(num_cpus=1)
    run.wait_for(lambda: len(run.workers) == 2, "a worker on the node that joined")

    drain(cluster.address, leaving.node_id)
    time.sleep(2 * EVERY)
    before = {ask.document for ask in run.asks}
    run.wait_for(lambda: run.have_committed(before), "the end of the shards in hand")
    asked = len(run.asks)
    kill_raylet(leaving)
    run.command.end()

    again = {ask.document for ask in run.asks[asked:]}
    assert not before & again, "something was lost"
    assert run.whole() == undisturbed


def drain(address: str, node: str, seconds: float = 110) -> None:
    from ray._raylet import GcsClient
    from ray.core.generated.autoscaler_pb2 import DrainNodeReason

    reason = DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
    until = int((time.time() + seconds) * 1000)
    assert GcsClient(address=address).drain_node(node, reason, "the node is to go", until)[0]
