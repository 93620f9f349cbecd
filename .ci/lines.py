"""How large the house is: counts for each part, in commits side by side.

    python .ci/lines.py [COMMIT …]      (a commit and its first parent, if none is named)

Of Python files: lines, files, functions, dataclasses and lines of imports; of docs: lines of text.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

PARTS = {"evaljudge": ".py", "tests": ".py", "jobs": ".py", "benches": ".py", "docs": ".md"}
COUNTS = "lines", "files", "functions", "dataclasses", "import lines"


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], check=True, capture_output=True).stdout


def counts(commit: str) -> dict[str, Counter[str]]:
    found = {part: Counter[str]() for part in PARTS}
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
        for member in archive:
            part = Path(member.name).parts[0]
            content = archive.extractfile(member)
            if content and Path(member.name).suffix == PARTS.get(part):
                found[part] += counts_of(content.read().decode(), PARTS[part] == ".py")
    return found


def counts_of(text: str, is_python: bool) -> Counter[str]:
    count = Counter({"lines": len(text.splitlines()), "files": 1})
    for node in ast.walk(ast.parse(text)) if is_python else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count["functions"] += 1
        elif isinstance(node, ast.Import | ast.ImportFrom):
            count["import lines"] += (node.end_lineno or node.lineno) - node.lineno + 1
        elif isinstance(node, ast.ClassDef):
            marks = [ast.unparse(mark) for mark in node.decorator_list]
            count["dataclasses"] += any(mark.startswith("dataclass") for mark in marks)
    return count


def main(commits: list[str]) -> None:
    if not commits:
        commits = git("log", "-1", "--first-parent", "--format=%P %H").decode().split()
        commits = list(dict.fromkeys([commits[0], commits[-1]]))
    sides = [counts(commit) for commit in commits]
    print(f"{'':24}" + "".join(f"{commit[:9]:>10}" for commit in commits))
    for part in PARTS:
        for name in COUNTS:
            if any(numbers := [side[part][name] for side in sides]):
                print(f"{part:11}{name:13}" + "".join(f"{number:10,}" for number in numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
