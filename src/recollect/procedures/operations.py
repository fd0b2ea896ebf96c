"""Operations on procedures, exported and loaded as skills, and on patterns as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ..context import Context, new_id
from ..documents.user_files_io import read_json_objects, read_text
from ..errors import Refused
from ..fast_typing import TypedDict, Unpack
from ..memory import operations as memory_operations
from ..project import write_private
from ..storage.database import Tx
from ..types.records import Json, Learned
from ..undo import steps as undo_steps
from . import skills, sql
from . import steps as procedures_steps
from .steps import ExportedSkill, ShownProcedure

_LARGEST_SKILL = 1_000_000


class ProcedureParts(TypedDict, total=False):
    """The parts of a procedure besides its name and description.

    prerequisites: a prerequisite (repeat for several)
    steps: a step (repeat for several, in order)
    errors: an error and its fix, as "Schema mismatch: regenerate" (repeat for several)
    exit_criteria: a condition that must hold at the end (repeat for several)
    """

    prerequisites: Sequence[str]
    steps: Sequence[str]
    errors: Sequence[str]
    exit_criteria: Sequence[str]


def learn_procedure(
    context: Context, name: str, description: str, **parts: Unpack[ProcedureParts]
) -> ShownProcedure:
    """Save a procedure: prerequisites, steps, known errors and exit criteria.

    name: its name in kebab-case, such as add-endpoint
    description: what it does and when to use it, in a sentence

    Example: recollect procedure learn add-endpoint "Add an API endpoint" --step "Read the spec"
    """
    procedure = skills.build_procedure(name, description, _given_parts(parts))
    row = procedures_steps.prepare_row(
        procedure, context.origin, context.origin, context.clock(), new_id("p")
    )
    return _write(
        context, "saved", row.name, lambda tx, _: procedures_steps.learn_procedure(tx, row)
    )


def list_procedures(context: Context, limit: int = 100) -> tuple[ShownProcedure, ...]:
    """List the procedures, with the counts of their successes and failures.

    limit: maximum number of procedures

    Example: recollect procedure list
    """
    if not context.project_space.present():
        return ()
    rows = context.project_space.read(lambda tx: sql.list_open(tx, limit))
    return tuple(map(procedures_steps.show_row, rows))


def show_procedure(context: Context, name: str) -> ShownProcedure:
    """Show one procedure.

    name: its name, or the id of any version of it

    Example: recollect procedure show add-endpoint
    """
    return procedures_steps.show_row(
        context.project_space.read(lambda tx: procedures_steps.get_procedure(tx, name))
    )


def use_procedure(context: Context, name: str, result: str = "success") -> ShownProcedure:
    """Record the result of using a procedure.

    name: its name
    result: success or failure

    Example: recollect procedure use add-endpoint --result failure
    """
    return _write(
        context,
        f"recorded a {result} of",
        show_procedure(context, name).name,
        lambda tx, now: procedures_steps.count_use(tx, name, result, now),
    )


def revise_procedure(
    context: Context, name: str, description: str = "", **parts: Unpack[ProcedureParts]
) -> ShownProcedure:
    """Revise a procedure: the given parts replace its own in a new version.

    name: its name
    description: what it does and when to use it

    Example: recollect procedure revise add-endpoint --step "Read the spec" --step "Write it"
    """
    now, id = context.clock(), new_id("p")
    current = show_procedure(context, name).procedure
    new = skills.replace_parts(current, description, _given_parts(parts))
    row = procedures_steps.prepare_row(new, context.origin, context.origin, now, id)
    return _write(
        context,
        "revised",
        current.name,
        lambda tx, now: procedures_steps.revise_procedure(tx, name, row, now),
    )


def accept_procedure(context: Context, name: str) -> ShownProcedure:
    """Accept a proposed or loaded procedure; it is in use from then on.

    name: its name

    Example: recollect procedure accept add-endpoint
    """
    id = new_id("p")
    return _write(
        context,
        "accepted",
        show_procedure(context, name).name,
        lambda tx, now: procedures_steps.accept_procedure(tx, name, context.origin, now, id),
    )


def export_procedure(context: Context, name: str, folder: str = "") -> ExportedSkill:
    """Export a procedure as SKILL.md: print it, or write FOLDER/NAME/SKILL.md.

    name: its name
    folder: a folder of skills; an existing SKILL.md of that name is replaced

    Example: recollect procedure export add-endpoint --folder .claude/skills
    """
    shown = show_procedure(context, name)
    text = skills.to_skill_md(shown.procedure)
    notes = tuple(filter(None, [skills.describe_extensions(shown.procedure)]))
    if not folder:
        return ExportedSkill(shown.name, text, notes=notes)
    if shown.status != "active":
        raise Refused(
            f"the procedure is {shown.status}: an agent would follow it as a skill",
            where=shown.name,
            hint="a person accepts it with `recollect procedure accept`",
        )
    place = os.path.join(os.path.abspath(os.path.expanduser(folder)), shown.name)
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, "SKILL.md")
    write_private(path, text)
    return ExportedSkill(shown.name, text, path, notes)


def load_procedure(context: Context, path: str) -> ShownProcedure:
    """Load a procedure from a SKILL.md; if an agent loads it, a person must accept it.

    path: a SKILL.md, or the folder it is in

    Example: recollect procedure load .claude/skills/add-endpoint/SKILL.md
    """
    procedure = skills.from_skill_md(read_text(path, _LARGEST_SKILL, "SKILL.md"))
    label = "user" if context.origin == "user" else "import"
    now = context.clock()
    row = procedures_steps.prepare_row(procedure, context.origin, label, now, new_id("p"))
    return _write(
        context, "loaded", row.name, lambda tx, _: procedures_steps.learn_procedure(tx, row)
    )


def load_patterns(context: Context, path: str) -> tuple[Learned, ...]:
    """Load patterns from a JSON file or a folder of them.

    path: the file or folder; if an agent loads it, a person must confirm the patterns

    Example: recollect pattern load patterns.json
    """
    found = [skills.pattern_from_json(one) for one in read_json_objects(path)]
    label = "user" if context.origin == "user" else "import"
    now = context.clock()
    ready = [
        procedures_steps.prepare_pattern(one, context.origin, label, now, new_id("m"))
        for one in found
    ]
    return context.project_space.write(lambda tx: procedures_steps.save_patterns(tx, ready, now))


def show_pattern(context: Context, id: str) -> dict[str, Json]:
    """Show a pattern as JSON: conditions, right and wrong approach, evidence, links.

    id: its id, or the id in the file it was loaded from

    Example: recollect pattern show sem-001
    """
    memory_operations.write_recalls(context)
    return context.project_space.read(lambda tx: procedures_steps.show_pattern(tx, id))


def _write(
    context: Context, done: str, name: str, work: Callable[[Tx, int], ShownProcedure]
) -> ShownProcedure:
    """Change the procedure of this name, and record how to undo it."""
    watched = undo_steps.Watched("procedures", "name", name)
    return undo_steps.write_undoable(context, f"{done} the procedure {name}", watched, work)


def _given_parts(given: ProcedureParts) -> dict[str, Sequence[str]]:
    return {name: words for name, words in given.items() if isinstance(words, Sequence)}
