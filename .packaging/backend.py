"""How the package is built, where pyproject.toml has no words for it: setuptools, with the files of
clusters in the wheel, and a README whose links lead somewhere on the page of a package index."""

import re
import shutil
from pathlib import Path

from setuptools.build_meta import *  # noqa: F403  what builders call
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info, manifest_maker

ROOT = Path(__file__).parents[1]
CLUSTER = (
    "cluster.yaml", "Dockerfile", ".*ignore", ".overrides.txt", ".requirements-*.txt",
    "pyproject.toml", ".packaging/*.*", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
    "docs/*.md", "docs/*.ipynb", "docs/pictures/*.*", "jobs/**/*.*",
)  # fmt: skip
"""What `evaljudge files cluster` copies, besides the package itself."""
NOTE = (
    "*(The pages named here lie in the source distribution, in `docs/`; where evaljudge is\n"
    "installed, `evaljudge files cluster DIR` copies them.)*\n\n"
)
manifest_maker.template = ".packaging/MANIFEST.in"


class WithClusterFiles(build_py):
    def run(self) -> None:
        if not self.editable_mode:  # else the wheel would have what an earlier one left there
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        for file in (file for each in CLUSTER for file in ROOT.glob(each)):
            if file.suffix != ".pyc" and not self.editable_mode:
                to = Path(self.build_lib, "evaljudge/bundled/cluster", file.relative_to(ROOT))
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)


class WithIndexPage(egg_info):
    def finalize_options(self) -> None:
        super().finalize_options()
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        text = re.sub(r"^!\[[^]]*\]\((?!https:)[^)]*\)\n\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", text)
        self.distribution.metadata.long_description = text.replace("\n\n", f"\n\n{NOTE}", 1)
