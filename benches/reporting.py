"""What scoring and reporting a judged run takes: here, on one worker of Ray's, and on two.

    python benches/reporting.py [CASES]        (default: 100000 cases)

Makes one run on the scripted model, and then its report anew, each time in a process of its own, in
two rounds. Prints each report's seconds, the driver's processor seconds and its memory, and fails
if their agreement.json differ by more than rounding.
The report is the whole `evaljudge report`: scores written, statistics, selections, pages.
"""

import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from figures import in_a_process, keep

ROUNDS = 2
WAYS = {"here": 0, "one worker": 1, "two workers": 2}
"""How many processors Ray has; none: no Ray."""


def make_run(folder: Path, cases: int) -> Path:
    from scale_run import configuration, rows

    import evaljudge
    from evaljudge.engines.scripted import ScriptedEngines

    corpus = folder / "cases.jsonl"
    with corpus.open("w") as lines:
        lines.writelines(f"{json.dumps(row)}\n" for row in rows(cases))
    config = configuration(folder, corpus) | {"workers": {"executor": "local"}}
    evaljudge.run(config, engines=ScriptedEngines())
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


def report(config: str, processors: int) -> dict[str, Any]:
    """The figures of a report in this process."""
    import evaljudge
    from evaljudge.engines.scripted import ScriptedEngines

    change = "workers.executor=local"
    if processors:
        import ray

        ray.init("local", num_cpus=processors, log_to_driver=False)
        change = "workers.executor=ray"
    wall, busy = time.monotonic(), time.process_time()
    outcome = evaljudge.make_report(config, [change], engines=ScriptedEngines())
    figures = {
        "seconds": round(time.monotonic() - wall, 1),
        "driver_cpu_seconds": round(time.process_time() - busy, 1),
        "driver_mb_peak": peak_mb(),
    }
    agreement = json.loads(Path(outcome.out, "report/agreement.json").read_text())
    return figures | {"agreement": agreement}


def peak_mb() -> int:
    """The memory peak of this process alone; getrusage would include the one that began it."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024)


def alike(left: Any, right: Any) -> bool:
    """Equal but for rounding: arithmetic on many texts at once ends in other last digits."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(alike, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)


def main(cases: int) -> None:
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory(prefix="reporting-") as folder:
        config = make_run(Path(folder), cases)
        for _ in range(ROUNDS):
            for name, processors in WAYS.items():
                line = [sys.executable, __file__, "--report", str(config), str(processors)]
                found = json.loads(in_a_process(line)[1].splitlines()[-1])
                seen[name].append(found)
                driver = f"{found['driver_cpu_seconds']} s of a processor"
                memory = f"{found['driver_mb_peak']} MB"
                print(f"{name:12}{found['seconds']:>8} s  driver {driver}, {memory}", flush=True)
    found_by_all = [one.pop("agreement") for every in seen.values() for one in every]
    assert all(alike(found_by_all[0], one) for one in found_by_all), "the reports differ"
    keep("reporting", {"cases": cases, "reports": seen})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--report"]:
        print(json.dumps(report(sys.argv[2], int(sys.argv[3]))))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 100_000)
