"""The demo: the whole journey on the real engine, with the judge that comes with evaljudge.

The corpus is of evaljudge's own small world, its held-out half: reports, and six invented systems'
texts about them whose true levels are known. The judge was trained on the other half.
"""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evaljudge.bundled.world.corpus import as_jsonl, make_cases
from evaljudge.commands.options import DemoOptions
from evaljudge.commands.run import print_outcome
from evaljudge.runs.pipeline import run
from evaljudge.runs.progress import watcher

ABOUT = """\
The demo's judge is evaljudge's own, a model of 1.3 million parameters. It knows the small world of
this corpus and nothing else; the agreement below is with the true levels of its texts.
A real model in its place:
  evaljudge run {config} --set model=Qwen/Qwen3-8B --set prompts=null --set out={other}
Settings of its judge compared in one table, with the references of this run:
  evaljudge study {study}
"""


def demo(wanted: DemoOptions) -> None:
    out = wanted.out
    config = write_demo(out, wanted.documents, wanted.seed)
    print(ABOUT.format(config=config, other=out / "real", study=out / "study.yaml"), flush=True)
    print_outcome(run(str(config), watcher=watcher()), wanted.full)


def write_demo(out: Path, documents: int, seed: int) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    cases, config = out / "cases.jsonl", out / "config.yaml"
    cases.write_text(as_jsonl(make_cases(documents, seed)), encoding="utf-8")
    demo = demo_config(cases, out / "run")
    config.write_text(_yaml(demo), encoding="utf-8")
    (out / "study.yaml").write_text(_yaml(demo_study(demo, out)), encoding="utf-8")
    return config


def demo_config(cases: Path, out: Path) -> dict[str, Any]:
    return {
        "corpus": str(cases),
        "out": str(out),
        "rated_by": "its world's true levels",
        "task": "summary",
        "prompts": "nano",
        "model": {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 28}},
        "judges": {"synthetic": {"levels": 5, "max_tokens": 96}},
        "metrics": ["importance", "rouge1", "words"],
        "workers": {"executor": "ray" if find_spec("ray") else "local"},
        "calibrate": ["synthetic"],
        "select": [
            {"name": name, "all": [{"scorer": scorer, "axis": "fluency", **asked}]}
            for name, scorer, asked in (
                ("best-fifth", "synthetic.ordinal", {"top_fraction": 0.2}),
                ("mostly-fluent", "synthetic", {"good": 4, "precision": 0.9}),
            )
        ],
    }


def demo_study(demo: Mapping[str, Any], out: Path) -> dict[str, Any]:
    kept = {name: demo[name] for name in ("corpus", "task", "prompts")}
    # it was not taught to rate a text directly: what it says then is shown all the same
    kept["model"] = demo["model"] | {"least_mass": 0}
    synthetic = demo["judges"]["synthetic"] | {"predict": ["probabilities", "sampled"]}
    judges = [
        {"judge": "synthetic", **synthetic, "levels": [2, 3, 5]},
        {"judge": "synthetic", **demo["judges"]["synthetic"], "layout": ["ladder"]},
        {"judge": "direct", "steps": False},
    ]
    where = {"out": str(out / "study"), "briefs": str(out / "run" / "briefs")}
    return kept | where | {"metrics": ["rouge1"], "study": {"judges": judges}, "coverage_floor": 0}


def _yaml(config: dict[str, Any]) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
