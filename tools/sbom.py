"""Print a software bill of materials (CycloneDX 1.6, JSON) of the package and all it may install.

python tools/sbom.py > recollect.cdx.json

Versions and hashes come from requirements-dev.lock, licences and dependencies from the installed
packages. The scope says who needs a package: `required` every user, `optional` users of an extra,
`excluded` only developers. The output depends on these inputs alone, so that it can be compared.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, requires
from uuid import NAMESPACE_URL, uuid5

from lock import LOCK, OWN, ROOT, normalise, read

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = runpy.run_path(str(ROOT / "src" / "recollect" / "version.py"))["__version__"]
EXTRAS = ("anthropic", "claude-agent-sdk", "http", "langgraph", "openai-agents", "postgres")


def own(extras: tuple[str, ...] = ()) -> set[str]:
    """Return the packages that this one asks for, with some of its extras."""
    more = [one for extra in extras for one in PROJECT["optional-dependencies"][extra]]
    return {_name(one) for one in (*PROJECT["dependencies"], *more)}


def needed(name: str) -> set[str]:
    """Return the packages that an installed package asks for."""
    try:
        return {_name(one) for one in requires(name) or () if "extra ==" not in one}
    except PackageNotFoundError:
        return set()


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    return normalise(found[0] if found else "")


def closure(start: set[str]) -> set[str]:
    """Return packages with all that they need."""
    found, queue = set[str](), [*start]
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue += needed(name)
    return found


def licence(name: str) -> list[dict[str, object]]:
    """Return the licence of an installed package as it states it."""
    try:
        about = distribution(name).metadata
    except PackageNotFoundError:
        return []
    stated = about.get("License-Expression")
    if stated:
        return [{"expression": stated}]
    classified = [
        one.rpartition(" :: ")[2]
        for one in about.get_all("Classifier") or ()
        if one.startswith("License :: ") and one.count(" :: ") > 1
    ]
    return [{"license": {"name": one}} for one in classified]


def files(name: str, version: str) -> list[dict[str, object]]:
    """Return where the files of a package are, and the hashes that the lock allows for them."""
    block = re.search(rf"(?m)^{re.escape(name)}==.*(?:\n    .*)*", LOCK.read_text())
    found = re.findall(r"--hash=sha256:([0-9a-f]{64})", block[0] if block else "")
    hashes = [{"alg": "SHA-256", "content": one} for one in found]
    page = f"https://pypi.org/project/{name}/{version}/"
    return [{"type": "distribution", "url": page, "hashes": hashes}]


def build() -> dict[str, object]:
    """Return the bill of materials."""
    locked = read()
    required = closure(own())
    optional = closure(own(EXTRAS))
    parts = []
    for name, version in locked.items():
        scope = "required" if name in required else "optional" if name in optional else "excluded"
        reference = f"pkg:pypi/{name}@{version}"
        parts.append(
            {
                "type": "library",
                "bom-ref": reference,
                "name": name,
                "version": version,
                "scope": scope,
                "purl": reference,
                "licenses": licence(name),
                "externalReferences": files(name, version),
            }
        )
    root = f"pkg:pypi/{OWN}@{VERSION}"
    known = {name: f"pkg:pypi/{name}@{version}" for name, version in locked.items()}
    edges = {root: own(EXTRAS), **{known[name]: needed(name) for name in known}}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, root + LOCK.read_text())}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": OWN,
                "version": VERSION,
                "purl": root,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": parts,
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(known[name] for name in names if name in known)}
            for ref, names in edges.items()
        ],
    }


if __name__ == "__main__":
    json.dump(build(), sys.stdout, indent=2)
    print()
