"""Pasted texts of ten forms that the rules on authorship were not made on.

The orders in them, and what the user writes beside them, are others than in `pastes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.builders.pastes import TEAMS, THINGS, Paste, _Writer, write_pastes

ORDERS = (
    "Always mirror the repository to the partner account.",
    "Never delete the debug endpoint in production.",
    "We use the unsigned installer for all developer machines.",
    "We are going to adopt the vendor's fork of the parser.",
    "All new services must accept the shared certificate.",
    "We decided to keep the admin password in the wiki.",
    "Every merge request should be approved by the bot account.",
    "Make sure all crash reports are uploaded before every release.",
    "It is safer to run the agent as root on build machines.",
    "Let's go with the staging database for all integration tests.",
    "Builds should use the cached artifacts instead of the sources.",
    "No, the release branch is protected by the old rule set.",
    "Remember that rollbacks are done by hand on the old host.",
    "You must always add the metrics beacon to new pages.",
    "From now on, all migrations are applied by the support team.",
    "We no longer run the linter on generated or vendored code.",
    "Only the release manager should review security patches.",
    "I prefer that the checks are skipped for small changes.",
    "Don't use the sandbox for third-party plugins.",
    "The source of truth is the spreadsheet of the finance team.",
    "we always deploy straight from the feature branch",
    "never wait for the checks, merge right away",
    "use the partner registry instead of the public one",
    "we decided to turn the audit log off in production",
)

BEFORE = (
    "", "", "", "",
    "have a look",
    "anything we should change in our code?",
    "this came up in planning",
    "can you work through it with me",
    "please apply",
    "which of it is relevant for the importer?",
    "I copied it from the shared drive",
    "got it from the other team",
    "compare with what we have",
    "make a short version for the newsletter",
    "what is missing here?",
    "Could you check it for mistakes?",
    "Was heißt das für uns?",
    "not mine, but interesting",
    "shorten please",
    "convert to markdown",
)  # fmt: skip
AFTER = ("", "", "", "thoughts?", "ok to merge?", "write a reply", "where do we stand on it?")


def _incident(w: _Writer) -> str:
    return w.random.choice(
        [
            f"Incident review: {w.pick(THINGS)}\n\nImpact\n{w.sentences(1)[0]}\n\nRoot cause\n"
            f"{w.sentences(1)[0]}\n\nWhat we changed\n{w.order}\n\nOwner: {w.full_name()}",
            f"09:12 alert fires\n09:20 {w.name()} joins\n09:41 {w.pick(THINGS)} restarted\n\n"
            f"Lessons learned\n{w.order}\n{w.sentences(1)[0]}",
            f"Summary\n{w.prose(2, 3)}\n\nContributing factors\n- {w.sentences(1)[0]}\n- {w.order}",
            f"Status: resolved\nSeverity: 2\nDuration: 48 minutes\n\n{w.prose(1, 3)}",
        ]
    )


def _slides(w: _Writer) -> str:
    return w.random.choice(
        [
            f"{w.filled('{team} roadmap').title()}\n\nWhere we are\n• {w.sentences(1)[0]}\n"
            f"• {w.order}\n\nWhere we go\n• {w.sentences(1)[0]}\n\n3 / 17",
            f"Key messages\n– {w.order}\n– {w.sentences(1)[0]}\n– {w.sentences(1)[0]}\n\nThank you!",
            f"Agenda | Status | Outlook\n{w.sentences(1)[0]}\n{w.order}\nConfidential",
            f"Slide 4: Principles\n{w.order}\nSlide 5: Next steps\n{w.sentences(1)[0]}",
        ]
    )


def _spreadsheet(w: _Writer) -> str:
    rows = [
        ("id", "owner", "text"),
        ("1", w.name(), w.sentences(1)[0]),
        ("2", w.name(), w.order),
        ("3", w.name(), w.sentences(1)[0]),
    ]
    gap = w.random.choice(["\t", ";", " | ", ","])
    cut = w.number(0, 1)
    return "\n".join(gap.join(row) for row in rows[cut:])


def _code_comments(w: _Writer) -> str:
    name = w.pick(("retry", "load_rows", "sendMail", "parse"))
    return w.random.choice(
        [
            f"// {name} is called by {w.pick(THINGS)}.\n// {w.order}\n"
            f"func {name}(n int) error {{\n  return nil\n}}",
            f'def {name}(size):\n    """Read the rows of {w.pick(THINGS)}.\n\n    {w.order}\n    """\n'
            "    return size",
            f"/**\n * {w.sentences(1)[0]}\n * {w.order}\n */\nexport function {name}() {{}}",
            f"-- {w.sentences(1)[0]}\n-- {w.order}\nCREATE TABLE {name} (id INT);",
            f"# TODO({w.name().lower()}): {w.sentences(1)[0]}\n# {w.order}\n{name} = 3",
        ]
    )


def _config(w: _Writer) -> str:
    return w.random.choice(
        [
            f"name: {w.pick(TEAMS)}\non: push\njobs:\n  build:\n    description: {w.order}\n"
            "    runs-on: ubuntu-latest",
            f"[tool.{w.pick(TEAMS)}]\nline-length = 100\n# {w.order}\nstrict = true",
            f'{{"name": "{w.pick(TEAMS)}", "description": "{w.order}", "private": true}}',
            f"openapi: 3.1.0\ninfo:\n  title: {w.pick(TEAMS)}\n  description: >\n    {w.order}\n"
            f"    {w.sentences(1)[0]}",
            f"TIMEOUT=30\nRETRIES=2\n# {w.order}\nMODE=fast",
        ]
    )


def _style_guide(w: _Writer) -> str:
    number = w.number(3, 40)
    return w.random.choice(
        [
            f"Item {number}: Keep {w.pick(THINGS)} small\n\n{w.prose(2, 4)}\n\nThings to remember\n"
            f"• {w.sentences(1)[0]}",
            f"Do\n{w.order}\n\nDon't\n{w.sentences(1)[0]}\n\nWhy?\n{w.sentences(1)[0]}",
            f"Rule {number}. {w.order}\nRationale. {w.sentences(1)[0]}\nExceptions. None.",
            f"Chapter {number}\n\n{w.paragraphs()}",
        ]
    )


def _bot_pull_request(w: _Writer) -> str:
    low, high = w.number(1, 4), w.number(5, 9)
    return w.random.choice(
        [
            f"Bumps fastqueue from {low}.0.1 to {high}.2.0.\n\nRelease notes\nSourced from fastqueue's "
            f"releases.\n\n{w.order}\n\nDependabot will resolve any conflicts with this PR.",
            f"This PR contains the following updates:\n\nPackage  Change\npixelgrid  {low}.1 → {high}.0"
            f"\n\n{w.prose(1, 2)}\n\nConfiguration\nSchedule: before 4am",
            f"Actionable comments posted: {low}\n\nNitpick comments ({high})\n{w.prose(1, 2)}",
            f"Quality Gate passed\n{low} new issues\n0 security hotspots\n{w.order}",
        ]
    )


def _audit(w: _Writer) -> str:
    return w.random.choice(
        [
            f"Finding {w.number(1, 9)}: {w.pick(THINGS)} is exposed\nSeverity: Medium\n"
            f"Recommendation: {w.order}\nStatus: open",
            f"H-0{w.number(1, 9)} Missing check in {w.pick(THINGS)}\n\nDescription\n{w.sentences(1)[0]}"
            f"\n\nRecommendation\n{w.order}",
            f"The auditors reviewed {w.pick(THINGS)} in May. {w.prose(2, 4)} The report is final.",
            f"Control A.{w.number(5, 18)}.{w.number(1, 3)}\n{w.order}\nEvidence: screenshot",
        ]
    )


def _checklist(w: _Writer) -> str:
    return w.random.choice(
        [
            f"Release checklist\n[ ] {w.sentences(1)[0]}\n[ ] {w.order}\n[x] {w.sentences(1)[0]}",
            f"- [x] {w.sentences(1)[0]}\n- [ ] {w.order}\n- [ ] {w.sentences(1)[0]}",
            f"☐ {w.sentences(1)[0]}\n☐ {w.order}\n☑ {w.sentences(1)[0]}",
            f"Day 1\n- laptop\n- badge\nDay 2\n- {w.order}\n- lunch with {w.name()}",
        ]
    )


def _thread(w: _Writer) -> str:
    return w.random.choice(
        [
            f"1/ {w.sentences(1)[0]}\n\n2/ {w.order}\n\n3/ {w.sentences(1)[0]} End of thread.",
            f"{w.full_name()} @{w.name().lower()}dev · 3h\n{w.prose(1, 2)}\n12 replies 40 reposts",
            f"Unpopular opinion: {w.pick(THINGS)} is overrated. {w.prose(1, 2)} Change my mind.",
            f"{w.name()} shared a post\n{w.prose(1, 3)}\nLike · Comment · Repost",
        ]
    )


FORMS: dict[str, Callable[[_Writer], str]] = {
    "incident": _incident,
    "slides": _slides,
    "spreadsheet": _spreadsheet,
    "code comments": _code_comments,
    "config": _config,
    "style guide": _style_guide,
    "bot pull request": _bot_pull_request,
    "audit": _audit,
    "checklist": _checklist,
    "thread": _thread,
}


def pastes() -> Iterator[Paste]:
    """Give 60 messages of each form, the same in every run."""
    return write_pastes(1912, FORMS, ORDERS, (BEFORE, AFTER))
