"""`evaljudge export RUN eee`: the means of a run's systems, as records of Every Eval Ever.

    data/CORPUS/DEVELOPER/SYSTEM/UUID.json      one for each system, by version 0.3.0 of its schema

A record is about the system that wrote the texts. Judges are named in each of its results. What
evaljudge does not know (who made a system, which values a scorer can take) is `unknown` or left
out. The same run gives the same files.
"""

import json
import re
from calendar import timegm
from hashlib import blake2b
from pathlib import PurePath
from time import strptime
from typing import Any
from uuid import UUID

import evaljudge
from evaljudge.decisions.systems import RankedSystem, SystemRanking
from evaljudge.errors import UserError
from evaljudge.records import HUMAN
from evaljudge.runs.outcome import Outcome, open_run
from evaljudge.sections.figures import axis_name
from evaljudge.storage import Output, to_write
from evaljudge.text import counted

SCHEMA = "0.3.0"
Record = dict[str, Any]


def export_records(run: str, to: str) -> str:
    outcome = open_run(run)
    results: dict[str, list[Record]] = {}
    for row in outcome.findings["systems"]:
        for system in row.systems:
            results.setdefault(system.system, []).append(_result(outcome, row, system))
    if not results:
        raise UserError(f"{run}: holds no scores")
    ended = strptime(Output(run).known_run()["ended"], "%Y-%m-%dT%H:%M:%SZ")
    since_1970 = str(timegm(ended))
    for system, of_system in results.items():
        developer, _, model = system.rpartition("/")
        path = [_plain(part) for part in (_corpus(outcome), developer or "unknown", model)]
        key = "/".join([*path, since_1970])
        record = {
            "schema_version": SCHEMA,
            "evaluation_id": key,
            "evaluation_timestamp": since_1970,
            "retrieved_timestamp": since_1970,
            "source_metadata": {
                "source_name": "evaljudge",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "evaljudge", "version": evaljudge.__version__},
            "model_info": _model("/".join(path[1:]), system),
            "evaluation_results": of_system,
        }
        own = blake2b(f"{key} {system}".encode(), digest_size=16).digest()
        file = "/".join([to.rstrip("/"), *path, f"{UUID(bytes=own, version=4)}.json"])
        place, name = to_write(file)
        place.write(name, json.dumps(record, ensure_ascii=False, indent=1).encode())
    return f"{counted(len(results), 'record', 'records')} of Every Eval Ever {SCHEMA}: {to}\n"


def _corpus(outcome: Outcome) -> str:
    return PurePath(outcome.findings.corpus).stem


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "unknown"


def _model(key: str, name: str) -> Record:
    unknown = dict.fromkeys(("deployment_type", "model_availability"), "unknown")
    return {"name": name, "id": key, "additional_details": unknown}


def _result(outcome: Outcome, row: SystemRanking, system: RankedSystem) -> Record:
    findings, axis = outcome.findings, axis_name(row.axis)
    scorer = findings.rated_by if row.scorer == HUMAN else row.scorer
    metric: Record = {"metric_id": f"evaljudge/{scorer}", "metric_name": scorer}
    metric["lower_is_better"] = False
    if meaning := findings.meanings.get(row.scorer):
        metric["evaluation_description"] = meaning
    if signature := findings.signatures.get(row.scorer):
        metric["additional_details"] = {"signature": signature}
        if (judge := re.split("[.#]", row.scorer)[0]) in outcome.judges:
            model = signature.split(" | ")[1]
            prompts = f"the prompts of evaljudge's judge {judge}: see the signature"
            judges = [{"model_info": _model(model, model)}]
            metric["llm_scoring"] = {"judges": judges, "input_prompt": prompts}
    uncertainty: Record = {"num_samples": system.n}
    if system.low is not None and system.high is not None:
        ends = {"lower": system.low, "upper": system.high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = ends | {"method": "Student's t over documents"}
    return {
        "evaluation_result_id": f"{axis}/{scorer}",
        "evaluation_name": axis,
        "source_data": {"dataset_name": _corpus(outcome), "source_type": "other"},
        "metric_config": metric,
        "score_details": {"score": system.mean, "uncertainty": uncertainty},
    }
