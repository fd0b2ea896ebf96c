"""Write the packages in `integrations/` and the marketplace manifest of this repository."""

from __future__ import annotations

import os
from pathlib import Path

from recollect.agents import packages
from recollect.version import __version__

ROOT = Path(__file__).parent.parent
PLUGIN, EXTENSION = "integrations/plugin", "integrations/gemini"
MARKETPLACE = ".claude-plugin/marketplace.json"


def render_files() -> dict[str, str]:
    """Return the text of each generated file by its path in the repository."""
    plugin, extension = packages.render_plugin(__version__), packages.render_extension(__version__)
    return {
        **{f"{PLUGIN}/{name}": text for name, text in plugin.items()},
        **{f"{EXTENSION}/{name}": text for name, text in extension.items()},
        MARKETPLACE: packages.render_marketplace(__version__, f"./{PLUGIN}"),
    }


def main() -> None:
    """Write the files."""
    for name, text in render_files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if packages.is_program(name.partition("/")[2].partition("/")[2]):
            os.chmod(path, 0o755)


if __name__ == "__main__":
    main()
