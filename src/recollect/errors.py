"""Every error that Recollect raises, in one tree.

    RecollectError            root: catch this one
    ├── InvalidInput          an argument is invalid; nothing was changed
    ├── NotFound              no record at that id, address or key
    ├── Conflict              the record changed meanwhile, or exists already
    ├── Refused               a rule forbids it (trust, scope, a mode, a path outside its root)
    ├── ConfigError           a configuration file or variable is wrong
    ├── Overflow              a prompt cannot be made to fit
    ├── Unavailable           something optional is missing (driver, embedder, model, git)
    └── StoreError            the store cannot be used
        ├── StoreBusy         other processes held the lock for longer than the wait
        ├── StoreFull         no space left on the device
        ├── StoreReadOnly     the file or its directory cannot be written
        ├── StoreCorrupt      the file is damaged, or the archive's hash chain is broken
        ├── StoreForeign      the file is not a Recollect store
        └── StoreNewer        a newer Recollect wrote it

Each error says what was wrong, where, and what to do. `EXIT_STATUS` maps an error's code to the
exit status of the command line.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class RecollectError(Exception):
    """Root of all errors: a message, the place it is about, and a hint."""

    code = "error"

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        is_named = self.message.endswith(f" {self.where}")
        place = f" ({self.where})" if self.where and not is_named else ""
        advice = f"\n{self.hint}" if self.hint else ""
        return f"{self.message}{place}{advice}"

    def as_json(self) -> dict[str, str]:
        """Return the error as `--json` prints it."""
        return {
            "code": self.code,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
        }


class InvalidInput(RecollectError):
    """An argument is invalid; nothing was changed."""

    code = "invalid_input"

    @classmethod
    def choice(cls, name: str, value: str, allowed: Iterable[str]) -> InvalidInput:
        """Return the error for a value that is none of the allowed ones."""
        article = "an" if name[0] in "aeiou" else "a"
        listed = ", ".join(filter(None, allowed))
        return cls(f"{value!r} is not {article} {name}", where=name, hint=f"one of: {listed}")


class NotFound(RecollectError):
    """There is no record at that id, address or key."""

    code = "not_found"


class Conflict(RecollectError):
    """The record changed meanwhile, or exists already."""

    code = "conflict"


class Refused(RecollectError):
    """A rule forbids it; the message names the rule."""

    code = "refused"


class ConfigError(RecollectError):
    """A configuration file or variable is wrong; the message names file, line and key."""

    code = "config"

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n{self.hint}" if self.hint else ""
        return f"{place}{self.message}{advice}"


class Overflow(RecollectError):
    """A prompt cannot be made to fit its window."""

    code = "overflow"


class Unavailable(RecollectError):
    """Something optional is missing: a driver, an embedder, a model, git."""

    code = "unavailable"


def missing_extra(extra: str, needed_by: str) -> Unavailable:
    """Return the error for the packages of an extra that are not installed."""
    return Unavailable(
        "optional packages are not installed",
        where=needed_by,
        hint=f"install them in Recollect's source: pip install '.[{extra}]'",
    )


class StoreError(RecollectError):
    """The store cannot be used."""

    code = "store"


class StoreBusy(StoreError):
    """Other processes held the lock for longer than the wait."""

    code = "store_busy"


class StoreFull(StoreError):
    """There is no space left on the device."""

    code = "store_full"


class StoreReadOnly(StoreError):
    """The file or its directory cannot be written."""

    code = "store_read_only"


class StoreCorrupt(StoreError):
    """The file is damaged, or the archive's hash chain is broken."""

    code = "store_corrupt"


class StoreForeign(StoreError):
    """The file at the store's path is not a Recollect store."""

    code = "store_foreign"


class StoreNewer(StoreError):
    """A newer Recollect wrote this store."""

    code = "store_newer"


EXIT_STATUS = {
    "error": 1,
    "invalid_input": 2,
    "not_found": 3,
    "conflict": 4,
    "refused": 5,
    "config": 6,
    "overflow": 7,
    "unavailable": 8,
    "store": 10,
    "store_busy": 11,
    "store_full": 12,
    "store_read_only": 13,
    "store_corrupt": 14,
    "store_foreign": 15,
    "store_newer": 16,
}
