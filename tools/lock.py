"""Write requirements-dev.lock: every package of `.[test]` with its version and file hashes.

python tools/lock.py            resolve anew and write the file
python tools/lock.py --check    check that the installed packages are those of the file

Install with `pip install --require-hashes -r requirements-dev.lock`, then `pip install --no-deps`.
The file names no registry: pip looks where it is configured to look.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
OWN = "recollect-memory"
HEAD = """\
# Made by tools/lock.py: do not edit. Python 3.11 on Linux; the hashes are those of all files of a
# version, so that pip may choose the wheel for another platform.
"""


def normalise(name: str) -> str:
    """Return the name of a package as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolve() -> dict[str, str]:
    """Return the packages that `.[test]` needs, with their versions and the hash of one file."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
         "--report", "-", f"{ROOT}[test]"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = {}
    for item in json.loads(done.stdout)["install"]:
        name = normalise(item["metadata"]["name"])
        if name != OWN:
            found[name] = item["metadata"]["version"]
    return dict(sorted(found.items()))


def hashes(name: str, version: str) -> list[str]:
    """Return the sha256 of all files of a version that the registry offers."""
    request = urllib.request.Request(
        f"{INDEX}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request) as answer:
        page = answer.read().decode()
    files: list[tuple[str, str]] = (
        [(one["filename"], one["hashes"]["sha256"]) for one in json.loads(page)["files"]]
        if page.startswith("{")
        else re.findall(r"/([^/\"#]+)#sha256=([0-9a-f]{64})", page)  # an older registry
    )
    wheel, source = normalise(f"{name}-{version}-"), f"-{version}.tar.gz"
    chosen = [
        digest
        for file, digest in files
        if normalise(file).startswith(wheel)
        or (file.endswith(source) and normalise(file).startswith(name))
    ]
    if not chosen:
        raise SystemExit(f"{name} {version}: the registry names no file of it")
    return sorted(set(chosen))


def write() -> None:
    """Resolve and write the file."""
    parts = [HEAD]
    for name, version in resolve().items():
        lines = [
            f"{name}=={version}",
            *(f"    --hash=sha256:{one}" for one in hashes(name, version)),
        ]
        parts.append(" \\\n".join(lines) + "\n")
    LOCK.write_text("".join(parts))


def read() -> dict[str, str]:
    """Return the packages of the file with their versions."""
    return dict(re.findall(r"^([\w.-]+)==([\w.+!-]+)", LOCK.read_text(), re.MULTILINE))


def check() -> int:
    """Print the installed packages that differ from the file; return their number."""
    installed = {normalise(one.metadata["Name"]): one.version for one in distributions()}
    wrong = [
        f"{name}: locked {version}, installed {installed.get(name, 'not at all')}"
        for name, version in read().items()
        if installed.get(name) != version
    ]
    print("\n".join(wrong) or f"{len(read())} packages are those of {LOCK.name}")
    return len(wrong)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(min(check(), 1))
    write()
