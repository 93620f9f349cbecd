"""vLLM's second model runner, which CUDA has, on the CPU build: the engine's tests run by it, too.

    make test-cuda-path                                         what is marked `cuda_path`
    python tests/second_runner.py TRITON tests/engines -k exact  any others; TRITON: its folder

Triton's own interpreter runs its kernels here: layouts and code paths are those of a GPU, kernels
and speed are not. Triton is no part of the environment, since vLLM's CPU build takes another way
where it finds one: it lies in a folder of its own. Processes that tests start take the same runner:
a file `sitecustomize.py`, in a folder on their path, sees to it.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

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


OURS = ("TRITON_INTERPRET", "VLLM_USE_V2_MODEL_RUNNER")
PATH = "PYTHONPATH"


def is_here() -> bool:
    """Whether this process takes the second runner."""
    return all(os.environ.get(name) == "1" for name in OURS)


def first_runner() -> Mapping[str, str]:
    """The environment of a process that takes vLLM's first runner again."""
    folders = os.environ[PATH].split(os.pathsep)[2:]
    rest = {name: value for name, value in os.environ.items() if name not in OURS}
    return rest | {PATH: os.pathsep.join(folders)}


def _main(triton: str, *of_pytest: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(HOOK.format(file=Path(__file__).name))
        folders = [folder, str(Path(triton).resolve()), *filter(None, [os.environ.get(PATH)])]
        environment = {**os.environ, **dict.fromkeys(OURS, "1"), PATH: os.pathsep.join(folders)}
        command = [sys.executable, "-m", "pytest", *of_pytest]
        return os.spawnve(os.P_WAIT, sys.executable, command, environment)


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
