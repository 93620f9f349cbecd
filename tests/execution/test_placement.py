"""Whether a cluster can ever give what a worker needs: decided on plain numbers, without Ray."""

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.config import WorkersConfig
from evaljudge.execution.ray.placement import Cluster, NodeGroup, Placement, groups_of, place
from tests import build

HEAD = {"node:__internal_head__": 1.0, "CPU": 4.0}
L4 = {"CPU": 8.0, "GPU": 1.0, "accelerator_type:L4": 1.0}
SPOT = {**L4, "label:market=spot": 1.0, "label:zone=a": 1.0}
TWO_A100 = {"CPU": 24.0, "GPU": 2.0, "accelerator_type:A100": 1.0}


def placed(*nodes: dict[str, float], per_engine: int = 1, **wanted: Any) -> Placement:
    return place(WorkersConfig(**wanted), per_engine, Cluster([HEAD, *nodes]))


def refusal(cluster: Cluster, per_engine: int = 1, **wanted: Any) -> str:
    return build.refusal(place, WorkersConfig(**wanted), per_engine, cluster)


@pytest.mark.parametrize(
    ("cluster", "per_engine", "wanted", "found"),
    [
        (Cluster([HEAD]), 1, {}, Placement(0, 4)),  # no GPU, and none can come
        (Cluster([HEAD, L4]), 1, {"max": 40}, Placement(1, 8)),  # more than ever run
        (Cluster([HEAD, TWO_A100]), 2, {}, Placement(2, 16)),  # the engine's size
        (Cluster([HEAD], [NodeGroup({"CPU": 4}), NodeGroup(L4, 2)]), 1, {}, Placement(1, 8)),
        (Cluster([HEAD], [NodeGroup(L4, most=0)]), 1, {}, Placement(0, 4)),
        (Cluster([HEAD], [NodeGroup(L4)]), 1, {"min": 10**6}, Placement(1, 8)),  # without limit
        (Cluster([HEAD, L4]), 1, {"gpus": 0, "cpus": 1}, Placement(0, 1)),  # as it is said
        (Cluster([HEAD, L4]), 1, {"gpus": 0.5, "cpus": 2}, Placement(0.5, 2)),
    ],
)
def test_what_a_worker_takes(cluster, per_engine, wanted, found):
    placement = place(WorkersConfig(**wanted), per_engine, cluster)
    assert placement == found
    assert placement.ray_options.get("num_gpus", 0) == found.gpus


@pytest.mark.parametrize(
    ("placement", "node", "workers"),
    [
        (Placement(1, 1), TWO_A100, 2),
        (Placement(0.5, 1), L4, 2),
        (Placement(0.4, 1), TWO_A100, 4),  # a share never spans two GPUs
        (Placement(0.1, 0.1), L4, 10),
        (Placement(1, 20), TWO_A100, 1),
        (Placement(2, 1), L4, 0),
        (Placement(0, 0.1), {"CPU": 1.0}, 10),
        (Placement(1, 1, "L4"), L4, 1),
        (Placement(1, 1, "L4"), TWO_A100, 0),
        (Placement(0, 1), {}, 0),
        (Placement(0, 1, memory=3), {"CPU": 4.0, "memory": 8 * 2.0**30}, 2),
        (Placement(0, 1, memory=3), {"CPU": 4.0}, 4),  # the autoscaler's file does not say
        (Placement(1, 1, selectors=[{"market": "spot"}]), SPOT, 1),
        (Placement(1, 1, selectors=[{"market": "!spot"}]), SPOT, 0),
        (Placement(1, 1, selectors=[{"market": "!spot"}]), L4, 1),  # as Ray has it
        (Placement(1, 1, selectors=[{"market": "in(reserved, spot)", "zone": "a"}]), SPOT, 1),
        (Placement(1, 1, selectors=[{"zone": "!in(a, b)"}]), SPOT, 0),
        (Placement(1, 1, selectors=[{"zone": "b"}, {"market": "spot"}]), SPOT, 1),
    ],
)
def test_how_many_workers_a_node_holds(placement, node, workers):
    assert placement.workers_on(node) == workers


@pytest.mark.parametrize(
    ("cluster", "wanted", "needed", "nodes"),
    [
        (Cluster([HEAD]), {"gpus": 1, "cpus": 1}, "1 GPU and 1 CPU", "0 GPU and 4 CPU"),
        (  # GPUs of several nodes are not those of one
            Cluster([HEAD, TWO_A100, TWO_A100], [NodeGroup(TWO_A100, most=8)]),
            {"per_engine": 4, "cpus": 1}, "4 GPU and 1 CPU",
            "0 GPU and 4 CPU; 2 GPU and 24 CPU on A100",
        ),
        (  # CPUs are looked for beside the GPUs
            Cluster([{**HEAD, "CPU": 64.0}, L4]), {"gpus": 1, "cpus": 16}, "1 GPU and 16 CPU",
            "0 GPU and 64 CPU; 1 GPU and 8 CPU on L4",
        ),
        (Cluster([HEAD]), {"cpus": 5}, "5 CPU", "0 GPU and 4 CPU"),
        (
            Cluster([HEAD], [NodeGroup(L4)]), {"accelerator_type": "H100", "cpus": 1},
            "1 GPU and 1 CPU on H100", "0 GPU and 4 CPU; 1 GPU and 8 CPU on L4",
        ),
        (  # and GPUs on nodes of the accelerator
            Cluster([HEAD, L4, TWO_A100]),
            {"per_engine": 2, "accelerator_type": "L4", "cpus": 1}, "2 GPU and 1 CPU on L4",
            "0 GPU and 4 CPU; 1 GPU and 8 CPU on L4; 2 GPU and 24 CPU on A100",
        ),
        (
            Cluster([HEAD], [NodeGroup(SPOT)]),
            {"labels": [{"zone": "b"}, {"zone": "in(c, d)"}], "cpus": 1, "memory": 24},
            "1 GPU and 1 CPU and 24 GiB with zone=b or with zone=in(c, d)",
            "0 GPU and 4 CPU; 1 GPU and 8 CPU on L4 with zone=a",
        ),
    ],
)  # fmt: skip
def test_a_worker_that_no_node_can_hold_is_refused_with_what_there_is(
    cluster, wanted, needed, nodes
):
    assert refusal(cluster, **wanted) == (
        f"workers: each worker needs {needed} on one node, and the nodes that this cluster has or "
        f"could add have {nodes}"
    )


def test_ray_tries_selectors_in_order():
    given = {"labels": [{"market": "spot"}, {"market": "!spot", "zone": "a"}], "memory": 2}
    options = placed(SPOT, cpus=1, **given).ray_options
    assert options["label_selector"] == {"market": "spot"}
    assert options["fallback_strategy"] == [{"label_selector": {"market": "!spot", "zone": "a"}}]
    assert options["memory"] == 2 * 2**30
    assert "label_selector" not in placed(SPOT, cpus=1).ray_options
    for wrong in ({}, {"zone": "in()"}, {"zone": ""}, [{"zone": "a"}, {}]):
        with pytest.raises(ValueError, match="labels"):
            WorkersConfig.model_validate({"labels": wrong})


def test_what_cannot_run_is_refused():
    said = refusal(Cluster([HEAD, TWO_A100]), per_engine=2, gpus=1)
    assert said.startswith("workers.gpus: an engine of tensor and pipeline parallel size 2")
    assert placed(per_engine=2, gpus=0).gpus == 0  # the CPU build knows such engines too
    assert refusal(Cluster([HEAD, L4, L4]), min=3, gpus=1, cpus=1) == (
        "workers.min: 3 workers of 1 GPU and 1 CPU are to run at once, and this cluster has or "
        "could add room for 2"
    )
    assert placed(L4, L4, min=2, gpus=1) == Placement(1, 8)
    said = refusal(Cluster([HEAD, L4]), min=2, gpus=1, cpus=1, accelerator_type="L4")
    assert "1 GPU and 1 CPU on L4" in said


EIGHT = {"CPU": 192.0, "GPU": 8.0}


@pytest.mark.parametrize(
    ("nodes", "wanted", "cpus"),
    [
        ([L4], {}, 8),
        ([EIGHT], {"max": 8}, 8),  # no more than an engine uses
        ([{"CPU": 48.0, "GPU": 8.0}], {"max": 8}, 6),  # its share of the node
        ([{"CPU": 48.0, "GPU": 8.0}], {"max": 2}, 8),
        ([{"CPU": 4.0, "GPU": 8.0}], {"max": 8}, 1),  # fewer CPUs than GPUs
        ([{"CPU": 48.0, "GPU": 4.0}], {"per_engine": 4}, 32),
        ([L4], {"gpus": 0.5, "max": 2}, 4),
        ([L4, TWO_A100], {"max": 3}, 8),
        ([], {}, 4),  # no GPU: all CPUs of the node, or a worker's share of them
        ([], {"max": 2}, 2),
        ([], {"max": 3}, 1),
        ([{"CPU": 16.0}], {"max": 4}, 4),
    ],
)
def test_cpus_that_are_auto(nodes, wanted, cpus):
    assert placed(*nodes, **wanted).cpus == cpus


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 8)), max_size=4),
    st.integers(1, 10),
    st.integers(0, 2),
)
def test_auto_is_never_more_than_a_node_has_and_costs_no_worker(nodes, most, gpus):
    there = [HEAD, *({"CPU": float(cpus), "GPU": float(gpu)} for cpus, gpu in nodes)]
    if not gpus or any(node.get("GPU", 0) >= gpus for node in there):
        found = placed(*there[1:], max=most, gpus=gpus)
        held = [found.workers_on(node) for node in there]
        with_one = [Placement(gpus, 1).workers_on(node) for node in there]
        assert min(most, sum(held)) == min(most, sum(with_one)) > 0


@pytest.mark.parametrize(
    ("there", "least", "fits"),
    [(0, 2, True), (1, 2, True), (2, 2, True), (2, 3, False), (4, 4, True), (4, 5, False)],
)
def test_nodes_that_an_autoscaler_started_are_not_counted_twice(there, least, fits):
    cluster = Cluster([HEAD, *[L4] * there], [NodeGroup(L4, most=2)])
    if fits:
        assert place(WorkersConfig(min=least), 1, cluster).gpus == 1
    else:
        assert refusal(cluster, min=least).startswith("workers.min")


def test_groups_share_the_most_that_may_be_added():
    cluster = Cluster([HEAD], [NodeGroup(L4, most=5), NodeGroup(TWO_A100, most=2)], most_added=3)
    assert place(WorkersConfig(min=5), 1, cluster).gpus == 1  # two of the larger, one L4
    assert refusal(cluster, min=6).endswith("room for 5")
    cluster = Cluster([{**HEAD, "CPU": 1.0}], [NodeGroup({"CPU": 1.0}, most=2)])
    assert place(WorkersConfig(min=3), 1, cluster) == Placement(0, 1)
    assert refusal(cluster, min=4).endswith("room for 3")
    hidden = Cluster([HEAD], hidden=True)
    assert place(WorkersConfig(gpus=4, min=2), 1, hidden) == Placement(4, 1)
    assert "`auto` is unknown here" in refusal(hidden)
    assert place(WorkersConfig(), 1, Cluster([HEAD, L4], hidden=True)).gpus == 1


@pytest.mark.parametrize("gpus", [1.5, 2.5])
def test_more_than_one_gpu_is_whole(gpus):
    with pytest.raises(ValueError, match="whole"):
        WorkersConfig(gpus=gpus)


def test_an_autoscalers_file_says_what_it_may_start():
    config = {
        "max_workers": 6,
        "head_node_type": "head",
        "available_node_types": {
            "head": {"resources": {"CPU": 4}, "max_workers": 0},
            "l4": {
                "resources": {"CPU": 8, "GPU": 1},
                "labels": {"ray.io/market-type": "spot"},
                "max_workers": 4,
            },
            "cpu": {"resources": {"CPU": 2}},
            "unknown": {"node_config": {}},
        },
    }
    spot = "label:ray.io/market-type=spot"
    assert groups_of(config) == (
        [NodeGroup({"CPU": 8, "GPU": 1, spot: 1}, 4), NodeGroup({"CPU": 2}, 6), NodeGroup({}, 6)],
        6,
    )
    assert groups_of({}) == ([], inf)
