"""Run the modules of this package at their first use.

Every command and hook starts a process and pays for each module that runs. With this finder
installed, `from ..recall import ranking` only finds the module; its code runs when an attribute is
first read. `from ..recall.ranking import rank` reads an attribute, so the code runs immediately.
Therefore import modules; import names only from modules that are always needed. Importing this
module installs the finder; `recollect/__init__.py` does it first.
"""

from __future__ import annotations

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import (  # type: ignore[attr-defined]
    SourceFileLoader,
    _path_isfile,
    _path_stat,
)
from _thread import RLock
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PREFIX = f"{__package__}."
_IMPORT_ATTRIBUTES = {
    *("__cached__", "__class__", "__dict__", "__file__", "__loader__"),
    *("__name__", "__package__", "__path__", "__spec__"),
}
"""Attributes of the import system itself: reading them does not run a module."""


class _PendingModule(ModuleType):
    """A module whose code has not run yet."""

    def __getattribute__(self, name: str) -> object:
        if name not in _IMPORT_ATTRIBUTES:
            ModuleType.__getattribute__(self, "__loader__").run(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        """Run the module first: its code would overwrite the value."""
        if name not in _IMPORT_ATTRIBUTES:
            ModuleType.__getattribute__(self, "__loader__").run(self)
        ModuleType.__setattr__(self, name, value)


class _PendingLoader:
    """Runs a module at its first use; other threads wait until it is complete."""

    def __init__(self, loader: SourceFileLoader) -> None:
        self._loader = loader
        self._lock = RLock()
        self._running = False

    def __getattr__(self, name: str) -> object:
        """Return an attribute of the real loader, for `python -m`, inspect and others."""
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PendingModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: `run` executes the module."""

    def run(self, module: ModuleType) -> None:
        """Run the module's code, unless it has run or is running in this thread."""
        with self._lock:
            if self._running or type(module) is not _PendingModule:
                return
            self._running = True
            try:
                self._loader.exec_module(module)
                module.__class__ = ModuleType  # type: ignore[assignment]
                module.__loader__ = self._loader
                if module.__spec__:
                    module.__spec__.loader = self._loader
            finally:
                self._running = False


class _EmptyPackageLoader(SourceFileLoader):
    """Loads a package whose file is empty, as most are here, without reading it."""

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: the file is empty."""


class _LazyFinder:
    """Finds the modules of this package without running them. Python's own finder lists every
    folder and takes twice as long; it is used where there is no file, as in a zip archive."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not path or not name.startswith(_PREFIX):
            return None
        place = f"{path[0]}/{name.rpartition('.')[2]}"
        if _path_isfile(file := f"{place}.py"):
            loader = _PendingLoader(SourceFileLoader(name, file))
            spec = ModuleSpec(name, loader, origin=file)  # type: ignore[arg-type]
        elif _path_isfile(file := f"{place}/__init__.py"):
            package = SourceFileLoader if _path_stat(file).st_size else _EmptyPackageLoader
            spec = ModuleSpec(name, package(name, file), origin=file)
            spec.submodule_search_locations = [place]
        else:
            return None
        spec.has_location = True
        return spec


if _LazyFinder not in sys.meta_path:
    sys.meta_path.insert(0, _LazyFinder)
