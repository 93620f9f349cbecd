"""`evaljudge sbom`: what is installed beside evaljudge, as a CycloneDX bill of materials in JSON.

    {"bomFormat": "CycloneDX", "specVersion": "1.6", …, "components": [
      {"type": "library", "name": "ray", "version": "2.60.0", "purl": "pkg:pypi/ray@2.60.0", …}]}

It lists every Python package of the environment that runs the command. What is inside their wheels
(libraries in C, kernels) and the system's own packages are not listed.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distributions
from typing import Any

import evaljudge

SPEC = "1.6"
"""The version of CycloneDX; every field that is written here exists since 1.2."""

GROUP = "OSI Approved"
"""A classifier that names no licence."""
NO_LICENCE = ("", "UNKNOWN")


def bill_of_materials() -> dict[str, Any]:
    """Equal for equal environments: without a date or a serial number."""
    found = {_name(one): one for one in reversed(list(distributions()))}  # the first is imported
    others = sorted(found.keys() - {"evaljudge"})
    own = {"type": "application", "name": "evaljudge", "version": evaljudge.__version__}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "version": 1,
        "metadata": {"component": own},
        "components": [_component(name, found[name]) for name in others],
    }


def _name(package: Distribution) -> str:
    """As the packaging standard normalises it."""
    return re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()


def _component(name: str, package: Distribution) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{package.version.replace('+', '%2B')}"
    about: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name}
    return about | _licences(package) | {"version": package.version, "purl": purl}


def _licences(package: Distribution) -> dict[str, Any]:
    """The expression that newer packages have; else their classifiers, else the name they give."""
    said = package.metadata
    if "License-Expression" in said:
        return {"licenses": [{"expression": said["License-Expression"]}]}
    classifiers = (one for one in said.get_all("Classifier") or () if one.startswith("License ::"))
    names = [name for one in classifiers if (name := one.rpartition(" :: ")[2]) != GROUP]
    if not names and "License" in said and said["License"].strip() not in NO_LICENCE:
        names = [said["License"].strip().partition("\n")[0]]  # some give the whole text
    return {"licenses": [{"license": {"name": name}} for name in names]} if names else {}
