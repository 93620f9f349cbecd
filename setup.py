"""What pyproject.toml cannot say: the page on a package index, and files of clusters in a wheel."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
CLUSTER = (
    "cluster.yaml", "Dockerfile", ".dockerignore", ".overrides.txt", ".requirements-*.txt",
    "pyproject.toml", "setup.py", "README.md", "jobs/**/*.*",
)  # fmt: skip
"""What `evaljudge files cluster` copies, besides the package itself."""
NOTE = "*(The pages named here lie in the source distribution, in `docs/`.)*\n\n"


class WithClusterFiles(build_py):
    def run(self) -> None:
        super().run()
        for file in (file for each in CLUSTER for file in HERE.glob(each)):
            if file.suffix != ".pyc" and not self.editable_mode:
                to = Path(self.build_lib, "evaljudge/bundled/cluster", file.relative_to(HERE))
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)


def long_description() -> str:
    """README.md for a place where its relative links and pictures lead nowhere."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[[^]]*\]\((?!https:)[^)]*\)\n\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", text)
    return text.replace("\n\n", f"\n\n{NOTE}", 1)


setup(
    cmdclass={"build_py": WithClusterFiles},
    long_description=long_description(),
    long_description_content_type="text/markdown",
)
