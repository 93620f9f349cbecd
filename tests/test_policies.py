"""The policies of jobs/aws: their grammar by cfn-lint, what they allow, and that it is enough.

Moto's server stands for AWS. A run and Ray's own calls are made against it, the run as a role that
has nothing but the bucket's policy.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

import evaljudge
from evaljudge.engines.scripted import ScriptedEngines

ROOT = Path(__file__).parents[1]
AWS = ROOT / "jobs/aws"
POLICIES = ("bucket", "hub-token", "machines")
WORKER, HEAD = ("bucket", "hub-token"), POLICIES
PLACES = {
    "BUCKET": "mine", "ACCOUNT": "123456789012", "REGION": "eu-central-1",
    "OIDC": "oidc.eks.eu-central-1.amazonaws.com/id/1",
}  # fmt: skip
S3, EC2 = "arn:aws:s3:::", "arn:aws:ec2:eu-central-1:123456789012:"
INSTANCE, IAM = f"{EC2}instance/i-1", "arn:aws:iam::123456789012:role/"
SECRETS = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:"
OURS, OTHERS = {"ray-cluster-name": "evaljudge"}, {"ray-cluster-name": "payroll"}


def policy(name: str, places: Mapping[str, str] = PLACES) -> dict[str, Any]:
    """With its placeholders replaced, as docs/cluster.md does by `sed`."""
    text = (AWS / f"{name}.json").read_text()
    for placeholder, value in places.items():
        text = text.replace(placeholder, value)
    return json.loads(text)


def test_the_policies_are_what_aws_reads():
    """The linter would also see a misspelt action, as in the last of them."""
    from cfnlint import ManualArgs
    from cfnlint.api import lint

    misspelt = json.loads(json.dumps(policy("bucket")).replace("s3:ListBucket", "s3:ListBuckets"))
    documents = {name.replace("-", ""): policy(name) for name in POLICIES} | {"misspelt": misspelt}
    managed = {
        name: {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}
        for name, document in documents.items()
    }
    roles = {
        name: {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": policy(name)}}
        for name in ("ec2-trust", "pods-trust")
    }
    roles = {name.replace("-", ""): role for name, role in roles.items()}
    template = json.dumps({"Resources": managed | roles})
    found = lint(template, config=ManualArgs(regions=["eu-central-1"]))
    assert [(match.rule.id, match.path[1]) for match in found] == [("W3037", "misspelt")]


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "jobs/kubernetes/rayjob.yaml").read_text()))


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def allows(
    policies: tuple[str, ...], action: str, resource: str, context: Mapping[str, str]
) -> bool:
    """By the rules of AWS for statements that allow, as all of these do."""
    return any(
        any(fnmatchcase(action, one) for one in as_list(statement["Action"]))
        and any(fnmatchcase(resource, one) for one in as_list(statement["Resource"]))
        and all(
            context.get(key) == value
            for key, value in statement.get("Condition", {}).get("StringEquals", {}).items()
        )
        for name in policies
        for statement in policy(name)["Statement"]
    )


def tags(kind: str, of: Mapping[str, str]) -> dict[str, str]:
    return {f"aws:{kind}Tag/{name}": value for name, value in of.items()}


@pytest.mark.parametrize(
    ("action", "resource", "context", "who"),
    [
        ("s3:GetObject", f"{S3}mine/corpus/a.jsonl", {}, "both"),
        ("s3:GetObject", f"{S3}mine/weights/m/config.json", {}, "both"),
        ("s3:PutObject", f"{S3}mine/runs/first/run.json", {}, "both"),
        ("s3:PutObject", f"{S3}mine/corpus/a.jsonl", {}, "nobody"),
        ("s3:DeleteObject", f"{S3}mine/weights/m/config.json", {}, "nobody"),
        ("s3:GetObject", f"{S3}mine/payroll.csv", {}, "nobody"),
        ("s3:GetObject", f"{S3}others/corpus/a.jsonl", {}, "nobody"),
        ("s3:ListBucket", f"{S3}others", {}, "nobody"),
        ("s3:PutBucketPolicy", f"{S3}mine", {}, "nobody"),
        ("secretsmanager:GetSecretValue", f"{SECRETS}evaljudge-hub-a1B2c3", {}, "both"),
        ("secretsmanager:GetSecretValue", f"{SECRETS}payroll-a1B2c3", {}, "nobody"),
        ("secretsmanager:PutSecretValue", f"{SECRETS}evaljudge-hub-a1B2c3", {}, "nobody"),
        ("ec2:DescribeInstances", "*", {}, "head"),
        ("ec2:RunInstances", INSTANCE, tags("Request", OURS), "head"),
        ("ec2:RunInstances", INSTANCE, tags("Request", OTHERS), "nobody"),
        ("ec2:RunInstances", INSTANCE, {}, "nobody"),
        ("ec2:RunInstances", f"{EC2}subnet/subnet-1", {}, "head"),
        ("ec2:RunInstances", "arn:aws:ec2:eu-central-1::image/ami-1", {}, "head"),
        ("ec2:CreateTags", INSTANCE, {"ec2:CreateAction": "RunInstances"}, "head"),
        ("ec2:CreateTags", INSTANCE, tags("Resource", OURS), "head"),
        ("ec2:CreateTags", INSTANCE, tags("Resource", OTHERS), "nobody"),
        ("ec2:TerminateInstances", INSTANCE, tags("Resource", OURS), "head"),
        ("ec2:TerminateInstances", INSTANCE, tags("Resource", OTHERS), "nobody"),
        ("iam:PassRole", f"{IAM}evaljudge-worker", {"iam:PassedToService": "ec2.amazonaws.com"},
         "head"),
        ("iam:PassRole", f"{IAM}evaljudge-worker", {"iam:PassedToService": "x"}, "nobody"),
        ("iam:PassRole", f"{IAM}admin", {"iam:PassedToService": "ec2.amazonaws.com"}, "nobody"),
        ("ssm:GetParameters", "arn:aws:ssm:eu-central-1::parameter/aws/service/deeplearning/ami/x",
         {}, "head"),
        ("ssm:GetParameters", "arn:aws:ssm:eu-central-1:123456789012:parameter/x", {}, "nobody"),
    ],
)  # fmt: skip
def test_who_may_do_what(action, resource, context, who):
    may = {name for name, role in (("head", HEAD), ("worker", WORKER))
           if allows(role, action, resource, context)}  # fmt: skip
    assert may == {"both": {"head", "worker"}, "head": {"head"}, "nobody": set()}[who]


def test_the_names_are_those_of_the_cluster_and_the_pods():
    cluster = yaml.safe_load((ROOT / "cluster.yaml").read_text())
    text = (AWS / "machines.json").read_text()
    assert text.count(f'ray-cluster-name": "{cluster["cluster_name"]}"') == 2
    profile = cluster["available_node_types"]["gpu"]["node_config"]["IamInstanceProfile"]["Name"]
    assert f"role/{profile}" in text
    pods = [one["metadata"]["name"] for one in manifests() if one["kind"] == "ServiceAccount"]
    [trusted] = policy("pods-trust")["Statement"]
    subjects = trusted["Condition"]["StringEquals"][f"{PLACES['OIDC']}:sub"]
    assert subjects == [f"system:serviceaccount:default:{name}" for name in pods]
    image = cluster["available_node_types"]["head"]["node_config"]["ImageId"]
    assert image.startswith("resolve:ssm:/aws/service/deeplearning/ami/")


@pytest.fixture
def role(s3, monkeypatch):
    """The environment becomes that of a role with the bucket's policy, and Moto asks for it."""
    from boto3 import Session

    document = json.dumps(policy("bucket", PLACES | {"BUCKET": s3.name})).replace(
        '"s3:ListBucket"',
        '"s3:ListBucket", "s3:HeadBucket"',  # AWS has no action of that name
    )
    trust = (AWS / "ec2-trust.json").read_text()
    iam, sts = (Session().client(service) for service in ("iam", "sts"))
    made = iam.create_role(RoleName=s3.name, AssumeRolePolicyDocument=trust)["Role"]
    iam.put_role_policy(RoleName=s3.name, PolicyName="bucket", PolicyDocument=document)
    assumed = sts.assume_role(RoleArn=made["Arn"], RoleSessionName="run")
    keys = assumed["Credentials"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys["SecretAccessKey"])
    monkeypatch.setenv("AWS_SESSION_TOKEN", keys["SessionToken"])
    s3.put("corpus/cases.jsonl", CASE)
    _allow_strangers(s3, "0")
    yield s3
    _allow_strangers(s3, "inf")


CASE = json.dumps({"doc_id": "d", "source": "a b", "candidates": [{"system": "x", "text": "a"}]})


def _allow_strangers(s3: Any, calls: str) -> None:
    """So many calls are not looked at; those that follow need a role."""
    address, plain = f"{s3.server.url}/moto-api/reset-auth", {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(address, calls.encode(), plain)).close()


@pytest.mark.service
def test_a_run_needs_nothing_but_the_buckets_policy(role):
    from boto3 import Session
    from botocore.exceptions import ClientError

    given = {"corpus": f"{role.uri}/corpus", "out": f"{role.uri}/runs/first", "model": "m",
             "judges": ["synthetic"], "workers": {"executor": "local"}}  # fmt: skip
    assert evaljudge.run(given, engines=ScriptedEngines()).coverage == 1
    client = Session().client("s3")  # the default one knows the keys of another test
    assert client.get_object(Bucket=role.name, Key="runs/first/report/index.html")
    with pytest.raises(ClientError, match="AccessDenied"):
        client.put_object(Bucket=role.name, Key="corpus/cases.jsonl", Body=b"")
    with pytest.raises(ClientError, match="AccessDenied"):
        client.list_objects_v2(Bucket=f"{role.name}-of-others")


@pytest.mark.service
def test_rays_autoscaler_asks_for_nothing_else(s3):
    """A machine is started, found, tagged and terminated, as the head does it."""
    from ray.autoscaler._private.aws.node_provider import AWSNodeProvider

    cluster = yaml.safe_load((ROOT / "cluster.yaml").read_text())
    machine = cluster["available_node_types"]["gpu"]["node_config"] | {"ImageId": "ami-12c6146b"}
    del machine["IamInstanceProfile"]  # Moto has none
    provider = AWSNodeProvider(cluster["provider"], cluster["cluster_name"])
    asked = set[str]()
    for resource in (provider.ec2, provider.ec2_fail_fast):
        events = resource.meta.client.meta.events
        events.register("before-call.ec2", lambda model, **_: asked.add(model.name))
    subnet = next(iter(provider.ec2.subnets.all())).id
    asked.clear()
    provider.create_node(machine | {"SubnetIds": [subnet]}, {"ray-node-kind": "worker"}, 1)
    [node] = provider.non_terminated_nodes({})
    assert provider.node_tags(node)["ray-cluster-name"] == cluster["cluster_name"]
    provider.set_node_tags(node, {"ray-node-status": "up-to-date"})
    provider.terminate_node(node)
    allowed = {one for said in policy("machines")["Statement"] for one in as_list(said["Action"])}
    assert {f"ec2:{name}" for name in asked} == {a for a in allowed if a.startswith("ec2:")}


@pytest.mark.service
def test_the_hubs_token_comes_from_the_secret_store(s3):
    from boto3 import Session

    name, region = s3.name, "eu-central-1"
    store = Session().client("secretsmanager", region_name=region)
    store.create_secret(Name=name, SecretString="hf_of-a-test\n")
    script = [sys.executable, str(AWS / "hub_token.py")]

    def said(secret: str) -> tuple[str, str]:
        done = subprocess.run([*script, secret, region], capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    assert said(name) == ("hf_of-a-test\n", "")
    printed, complaint = said("no-such-secret")
    assert printed == "\n"
    assert complaint.startswith("no token for the hub, so only public models can be loaded: secret")
    assert "ResourceNotFound" in complaint


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("aws"), reason="the AWS command line is not here")
def test_the_commands_of_the_docs_make_the_roles(s3, tmp_path):
    """Those of docs/cluster.md that prepare an account and a cluster, at Moto."""
    from boto3 import Session

    text = (ROOT / "docs/cluster.md").read_text()
    blocks = re.findall(r"```sh cluster\n(.*?)```", text, re.DOTALL)
    account, pods, secret = (
        next(block for block in blocks if mark in block)
        for mark in ("aws iam create-policy ", "pods-trust.json", "create-secret ")
    )
    cluster = ("aws eks create-cluster --name my-cluster --resources-vpc-config {} "
               "--role-arn arn:aws:iam::$ACCOUNT:role/evaljudge-head")  # fmt: skip
    pods = "\n".join(line for line in pods.splitlines() if not re.match("kubectl|eksctl", line))
    secret = secret.replace("hf auth login", f"echo hf_of-a-test > {tmp_path}/token")
    secret = secret.replace("$HOME/.cache/huggingface", str(tmp_path))
    script = "\n".join(["set -e", account.replace("/tmp/", f"{tmp_path}/"), secret, cluster,
                        pods.replace("/tmp/", f"{tmp_path}/")])  # fmt: skip
    subprocess.run(["bash", "-c", script], cwd=ROOT, env=os.environ | {"AWS_PAGER": ""}, check=True,
                   capture_output=True)  # fmt: skip
    iam = Session().client("iam")
    attached = {
        role: [found["PolicyName"].removeprefix("evaljudge-") for found in
               iam.list_attached_role_policies(RoleName=f"evaljudge-{role}")["AttachedPolicies"]]
        for role in ("head", "worker", "pods")
    }  # fmt: skip
    assert attached == {"head": list(HEAD), "worker": list(WORKER), "pods": ["bucket"]}
    [profiled] = iam.get_instance_profile(InstanceProfileName="evaljudge-head")["InstanceProfile"][
        "Roles"
    ]
    assert profiled["RoleName"] == "evaljudge-head"
