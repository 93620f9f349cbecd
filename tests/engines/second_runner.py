"""vLLM's second model runner, which CUDA takes, on the CPU build: tests run by it are the lane.

    python tests/engines/second_runner.py tests/engines/test_exact.py -k bytes

It needs Triton, whose kernels its own interpreter runs here: layouts and code paths are those of a
GPU, kernels and speed are not. Triton is no part of the environment, since vLLM's CPU build takes
another way where it finds one: `make` unpacks it into a folder of its own, which the variable
EVALJUDGE_TEST_TRITON names. Processes that these tests start take the same runner: the file
`sitecustomize.py` in a folder on their path makes them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

TRITON = "EVALJUDGE_TEST_TRITON"
HOOK = '''\
"""Written by {file}: as Python starts, Triton is made to look like one with a working backend."""
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder


class Found(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "triton.backends":
            return None
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            driver = type("Driver", (), {{"is_active": staticmethod(lambda: True)}})
            module.backends["cpu"] = type("Backend", (), {{"driver": driver, "compiler": None}})

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Found())
'''


def environment(hook: Path) -> dict[str, str]:
    """Of a process that takes the second runner."""
    hook.joinpath("sitecustomize.py").write_text(HOOK.format(file=Path(__file__).name))
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.environ | {
        "TRITON_INTERPRET": "1",
        "VLLM_USE_V2_MODEL_RUNNER": "1",
        "PYTHONPATH": os.pathsep.join([str(hook), os.environ[TRITON], *filter(None, before)]),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
        sys.exit(os.spawnve(os.P_WAIT, sys.executable, command, environment(Path(folder))))
