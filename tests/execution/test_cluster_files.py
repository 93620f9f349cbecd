"""cluster.yaml, the Kubernetes manifests and the configurations of jobs/: what Ray, AWS and KubeRay
are told, checked as far as it can be here."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from evaljudge.config import WorkersConfig, load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.execution.ray.placement import Cluster, NodeGroup, groups_of, place
from tests.build import planned_text

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "jobs" / "configs"
SPOT_NOTICE = "jobs/spot_notice.sh"
RAYJOB = ROOT / "jobs/kubernetes/rayjob.yaml"
AWS = ROOT / "jobs/aws"
CASE = json.dumps({"doc_id": "d", "source": "a b", "candidates": [{"system": "x", "text": "a"}]})
MARKET = "ray.io/market-type"
NOT_IN_THE_REPO = {
    "a key": r"(?i)AKIA|secret_?access|access_key|token['\"]?\s*[:=]\s*['\"]?\w{16}|hf_\w{20}",
    "a registry host": r"https?://|\w+\.(io|com|org|dev)/\w+[:/]\w",
}


@pytest.fixture
def cluster(monkeypatch):
    """As `ray up` has it after filling in its defaults."""
    from ray.autoscaler._private.util import prepare_config

    monkeypatch.chdir(ROOT)  # its mounts are relative to the clone
    return prepare_config(yaml.safe_load((ROOT / "cluster.yaml").read_text()))


@pytest.fixture
def manifests():
    return {document["kind"]: document for document in objects(RAYJOB)}


@pytest.fixture
def job(manifests):
    return manifests["RayJob"]["spec"]


def objects(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def pods(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    groups = job["rayClusterSpec"]
    return {
        "submitter": job["submitterPodTemplate"]["spec"],
        "head": groups["headGroupSpec"]["template"]["spec"],
        **{g["groupName"]: g["template"]["spec"] for g in groups["workerGroupSpecs"]},
    }


def container(pod: dict[str, Any]) -> dict[str, Any]:
    [only] = pod["containers"]
    return dict(only)


def environment(pod: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container(pod)["env"] if "value" in one}


@pytest.mark.long
@pytest.mark.service
def test_the_cloud_has_such_machines(cluster, s3, tmp_path, monkeypatch):
    """As far as `ray up` goes before it asks for the first machine, at Moto's EC2."""
    from ray.autoscaler._private.commands import _bootstrap_config
    from ray.autoscaler._private.util import validate_config

    validate_config(cluster)
    monkeypatch.setenv("HOME", str(tmp_path))  # where it puts the key that it makes for ssh
    kinds = _bootstrap_config(cluster, no_config_cache=True)["available_node_types"]
    found = {name: kind["resources"] for name, kind in kinds.items()}
    assert found["head"]["CPU"] >= 4
    assert "GPU" not in found["head"]
    assert (found["gpu"]["GPU"], found["gpu"]["accelerator_type:L4"]) == (1, 1)
    assert found["four_gpus"]["GPU"] == 4


def test_every_machine_installs_this_clone_with_its_pins(cluster):
    mounts = cluster["file_mounts"]
    in_clone = {remote: local for remote, local in mounts.items() if remote.startswith("~/evalj")}
    assert {"pyproject.toml", ".packaging", "README.md", "evaljudge"} <= set(in_clone.values())
    assert all((ROOT / local).exists() for local in in_clone.values())
    lock = "evaljudge/.requirements-gpu.txt"
    assert lock.partition("/")[2] in in_clone.values()
    for commands in (cluster["head_setup_commands"], cluster["worker_setup_commands"]):
        locked, own = [command for command in commands if "pip install -q --" in command]
        assert f"--require-hashes -r ~/{lock}" in locked
        assert "--no-deps -e ~/evaljudge" in own
    assert re.search(r"^vllm==", (ROOT / lock.partition("/")[2]).read_text(), re.MULTILINE)


@pytest.mark.parametrize("role", ["head", "worker"])
def test_ray_starts_with_a_token_and_tells_nobody(cluster, role):
    start = cluster[f"{role}_start_ray_commands"][-1]
    for setting in ("RAY_AUTH_MODE=token", "RAY_USAGE_STATS_ENABLED=0", "VLLM_NO_USAGE_STATS=1"):
        assert setting in start
    assert ("--dashboard-host=127.0.0.1" in start) == (role == "head")
    assert "~/.ray/auth_token" in cluster["file_mounts"]
    assert "0.0.0.0" not in start


@pytest.mark.parametrize("role", ["head", "worker"])
def test_ray_starts_with_the_hubs_token_and_shows_it_to_nobody(cluster, role, tmp_path):
    """Stand-ins for the commands; the models' shared folder is there."""
    stand_ins = {"python": 'echo "$*" > asked; echo the-token', "ray": "env > environment"}
    for name, does in stand_ins.items():
        put_in(tmp_path, name, does)
    (tmp_path / "weights/hub").mkdir(parents=True)
    start = cluster[f"{role}_start_ray_commands"][-1]
    start = start.replace("-d /weights", f"-d {tmp_path}/weights")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", start], cwd=tmp_path, env={"PATH": path, "HOME": "/home/me"},
                          capture_output=True, text=True, check=True)  # fmt: skip
    script, secret, region = (tmp_path / "asked").read_text().split()
    assert f"~{script.removeprefix('/home/me')}" in cluster["file_mounts"]
    assert region == cluster["provider"]["region"]
    assert f"secret:{secret}-" in (AWS / "hub-token.json").read_text()
    environment = (tmp_path / "environment").read_text().splitlines()
    assert "HF_TOKEN=the-token" in environment
    assert "HF_HUB_CACHE=/weights/hub" in environment
    assert "the-token" not in done.stdout + done.stderr + start


@pytest.mark.parametrize("what", NOT_IN_THE_REPO)
@pytest.mark.parametrize(
    "file",
    [ROOT / "cluster.yaml", *(f for f in (ROOT / "jobs").rglob("*.*") if f.suffix != ".pyc")],
    ids=lambda file: file.name,
)
def test_no_file_names(file, what):
    annotated = re.sub(r"eks\.amazonaws\.com/role-arn", "", file.read_text())
    assert not re.search(NOT_IN_THE_REPO[what], annotated)


def test_the_rayjob_is_of_the_ray_that_is_pinned_and_its_configuration_loads(manifests):
    job = manifests["RayJob"]
    assert job["apiVersion"] == "ray.io/v1"
    assert job["spec"]["rayClusterSpec"]["rayVersion"] == version("ray")
    lock = (ROOT / ".requirements-gpu.txt").read_text()
    assert re.search(rf"^ray=={re.escape(version('ray'))} ", lock, re.MULTILINE)
    assert job["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    for file in CONFIGS.glob("*.yaml"):
        assert load_config(file).out
    [text] = manifests["ConfigMap"]["data"].values()
    config = load_config(yaml.safe_load(text))
    groups = manifests["RayJob"]["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert config.workers.max == sum(group["maxReplicas"] for group in groups)
    assert config.out.startswith("s3://")


def test_machines_are_labelled_by_their_market_and_keep_their_memory(cluster, job):
    """As `workers.labels` of a configuration chooses them."""
    spot_first = [{MARKET: "spot"}, {MARKET: "on-demand"}]
    config = {"max_workers": 8} | cluster
    for kind in (kinds := config["available_node_types"]).values():
        kind["resources"] = {"CPU": 8, "GPU": 1}
    for market, name in (("spot", "gpu"), ("on-demand", "gpu_on_demand")):
        assert kinds[name]["labels"][MARKET] == market
        assert ("InstanceMarketOptions" in kinds[name]["node_config"]) == (market == "spot")
        groups, most = groups_of(config)
        could_come = Cluster([], [NodeGroup(group.resources, 1) for group in groups], most)
        workers = WorkersConfig(labels={MARKET: market}, min=2 if market == "spot" else 1)
        assert place(workers, 1, could_come).gpus == 1
    assert place(WorkersConfig(labels=spot_first, min=3), 1, could_come).gpus == 1
    groups_of_pods = job["rayClusterSpec"]["workerGroupSpecs"]
    assert [group["labels"] for group in groups_of_pods] == spot_first
    assert job["rayClusterSpec"]["autoscalerOptions"]["version"] == "v2"
    for group in (job["rayClusterSpec"]["headGroupSpec"], *groups_of_pods):
        assert int(group["rayStartParams"]["object-store-memory"]) < 1 << 31
    for role in ("head", "worker"):
        assert "--object-store-memory=2000000000" in cluster[f"{role}_start_ray_commands"][-1]


def test_a_spot_machine_is_drained_at_its_notice(cluster, tmp_path):
    """The notice comes at the second look; the commands that the script calls are stand-ins."""
    from ray.scripts.scripts import cli as ray_commands

    stand_ins = {
        "sleep": "echo looked >> log",
        "curl": """case "$*" in
  *api/token*) echo the-token;;
  *the-token*spot/instance-action*) test $(wc -l < log) -eq 2;;
  *) exit 1;;
esac""",
        "ray": 'echo "ray $*" >> log',
    }
    for name, does in stand_ins.items():
        put_in(tmp_path, name, does)
    assert any(f"~/evaljudge/{SPOT_NOTICE}" in c for c in cluster["worker_start_ray_commands"])
    assert cluster["file_mounts"][f"~/evaljudge/{SPOT_NOTICE}"] == SPOT_NOTICE
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["sh", ROOT / SPOT_NOTICE], cwd=tmp_path, env={"PATH": path}, timeout=30, check=True
    )
    *looks, drained = (tmp_path / "log").read_text().splitlines()
    assert looks == ["looked"] * 2
    _, command, *options = shlex.split(drained)
    ray_commands.commands[command].make_context(command, options)  # it takes the options


@pytest.mark.service
@pytest.mark.parametrize(
    ("nodes", "told", "code"), [(1, "USR1", 143), (3, "USR1", 143), (1, "TERM", 143), (1, "", 5)]
)
def test_slurms_notice_ends_the_run_and_the_job_is_put_back(nodes, told, code, tmp_path):
    """Its commands are replaced; by hand, the file ran on Debian's own Slurm (docs/cluster.md)."""
    put_in(tmp_path, "scontrol", 'echo "$@" >> log; echo first')
    put_in(tmp_path, "srun", 'echo "$1 $2 $3 $4 $5 $6" >> log; shift 7; exec "$@"')
    wait = "exit 5" if not told else "while :; do sleep 0.05; done"
    put_in(tmp_path, "evaljudge", f"trap 'exit 143' TERM; echo \"$@\" >> log; {wait}")
    variables = {"SLURM_JOB_NUM_NODES": f"{nodes}", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n"}
    variables |= {"SLURM_SUBMIT_DIR": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    job = subprocess.Popen(["bash", ROOT / "jobs/slurm.sbatch", "a.yaml", "x"], env=variables)
    log = tmp_path / "log"
    while told and not (log.exists() and "run a.yaml x" in log.read_text()):
        time.sleep(0.05)
    if told:
        job.send_signal(getattr(signal, f"SIG{told}"))
    assert job.wait(30) == code
    lines = log.read_text().splitlines()
    assert ("requeue 7" in lines) == (told == "USR1")
    ray = f"ray symmetric-run --address first:6379 --min-nodes {nodes}"
    assert (ray in lines) == (nodes > 1)


def put_in(folder: Path, name: str, does: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{does}\n")
    (folder / name).chmod(0o755)


def test_kubernetes_knows_every_key_of_the_manifests(job):
    """The RayJob by its pods. As a whole it was held against the schemas of KubeRay 1.5.1, 1.6.2
    and 1.7.0 by hand, since no package has them."""
    files = (RAYJOB, RAYJOB.with_name("weights.yaml"))
    core = [one for file in files for one in objects(file) if one["kind"] != "RayJob"]
    about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    made = [about | {"spec": pod} for pod in pods(job).values()]
    for one in [*core, *made]:
        kubernetes_validate.validate(one, kubernetes_validate.latest_version(), strict=True)
    wrong = json.loads(json.dumps(made[0]).replace('"runAsNonRoot"', '"runAsNoRoot"'))
    with pytest.raises(kubernetes_validate.ValidationError, match="runAsNoRoot"):
        kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)


def test_pods_may_do_little_and_hold_no_key(job):
    assert not [one for one in objects(RAYJOB) if one["kind"] == "Secret"]
    for name in ("head", "gpu"):
        [token] = [one for one in container(pods(job)[name])["env"] if one["name"] == "HF_TOKEN"]
        secret = token["valueFrom"]["secretKeyRef"]
        assert secret["optional"] is True
        made = f"create secret generic {secret['name']} --from-file={secret['key']}="
        assert made in (ROOT / "docs/cluster.md").read_text()
    # by KubeRay, the head's account alone may start and delete pods
    accounts = {a["metadata"]["name"]: a for a in objects(RAYJOB) if a["kind"] == "ServiceAccount"}
    head, worker = (accounts[pods(job)[name]["serviceAccountName"]] for name in ("head", "gpu"))
    assert head["metadata"]["name"] != worker["metadata"]["name"]
    assert worker["automountServiceAccountToken"] is False
    assert pods(job)["submitter"]["automountServiceAccountToken"] is False
    for name, pod in pods(job).items():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container(pod)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        if name != "submitter":
            assert environment(pod)["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.fixture
def large():
    return load_config(CONFIGS / "large.yaml")


def test_the_large_models_engine_spans_the_gpus_of_one_machine(cluster, large):
    """As Ray asks for it: an actor with four GPUs on a node. Smaller machines are refused."""
    engine = large.model.as_source().gpus_per_engine
    assert engine == large.workers.gpus == 4
    assert cluster["available_node_types"]["four_gpus"]["max_workers"] == 0  # until it is changed
    four, one = {"CPU": 48, "GPU": 4}, {"CPU": 8, "GPU": 1, "accelerator_type:L4": 1}
    could_come = Cluster([], [NodeGroup(one, 8), NodeGroup(four, 2)], most_added=8)
    placement = place(large.workers, engine, could_come)
    assert (placement.ray_options["num_gpus"], placement.workers_on(four)) == (4, 1)
    with pytest.raises(UserError, match="each worker needs 4 GPU and"):
        place(large.workers, engine, Cluster([], [NodeGroup(one, 8)]))


def test_the_large_models_plan_counts_all_gpus_of_an_engine(tmp_path):
    (tmp_path / "cases.jsonl").write_text(CASE)
    here = [f"corpus={tmp_path}/cases.jsonl", f"out={tmp_path}/out"]
    given = yaml.safe_load((CONFIGS / "large.yaml").read_text())

    def hours(*changes: str) -> float:
        said = planned_text(given, [*here, *changes], throughput=1, engines=ScriptedEngines())
        found = re.search(r"([\d.]+) GPU-hours", said)
        return float(found[1])

    assert hours() == pytest.approx(4 * hours("model.engine={}"), rel=0.01)
