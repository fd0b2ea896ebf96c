"""Skills: written by the convention, and read without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate_metadata

from recollect.errors import InvalidInput
from recollect.procedures.skills import KnownError, Procedure, Section, from_skill_md, to_skill_md
from recollect.text.frontmatter import (
    YamlValue,
    quote_yaml,
    read_frontmatter,
    split_frontmatter,
    write_frontmatter,
)

law = settings(deadline=None, max_examples=200)

EXAMPLE = """# Skill: API Endpoint Implementation

## Prerequisites
- OpenAPI spec exists at .loki/specs/openapi.yaml
- Database schema defined

## Steps
1. Read endpoint spec from openapi.yaml
2. Create route handler in src/routes/{resource}.ts
3. Implement request validation using spec schema
4. Implement business logic
5. Add database operations if needed
6. Return response matching spec schema
7. Write contract tests
8. Run tests, verify passing

## Common Errors & Fixes
- Missing return type: Add `: void` to handler
- Schema mismatch: Regenerate types from spec

## Exit Criteria
- All contract tests pass
- Response matches OpenAPI spec
- No TypeScript errors
"""


def test_the_example_of_the_format_loads_as_it_is_and_comes_back() -> None:
    skill = from_skill_md(EXAMPLE)
    assert skill.name == "api-endpoint-implementation"
    assert skill.title == "Skill: API Endpoint Implementation"
    assert skill.prerequisites == (
        "OpenAPI spec exists at .loki/specs/openapi.yaml",
        "Database schema defined",
    )
    assert len(skill.steps) == 8
    assert skill.steps[1] == "Create route handler in src/routes/{resource}.ts"
    assert skill.errors == (
        KnownError("Missing return type", "Add `: void` to handler"),
        KnownError("Schema mismatch", "Regenerate types from spec"),
    )
    assert skill.exit_criteria[-1] == "No TypeScript errors"
    assert skill.sections == ()
    written = to_skill_md(skill)
    assert split_frontmatter(written).body.lstrip("\n") == EXAMPLE
    assert from_skill_md(written) == skill


def test_a_skill_without_frontmatter_is_described_by_its_title_and_first_steps() -> None:
    told = from_skill_md(EXAMPLE).description
    assert told.startswith("API Endpoint Implementation: Read endpoint spec from openapi.yaml;")


def test_a_skill_is_written_by_the_convention() -> None:
    skill = Procedure(
        "release-notes",
        "Writes release notes. Use it: before a tag.",
        "Release notes",
        steps=("Read the log", "Write the notes"),
        successes=3,
    )
    assert to_skill_md(skill) == (
        "---\n"
        "name: release-notes\n"
        'description: "Writes release notes. Use it: before a tag."\n'
        "metadata:\n"
        '  recollect-successes: "3"\n'
        "---\n\n"
        "# Release notes\n\n"
        "## Steps\n"
        "1. Read the log\n"
        "2. Write the notes\n"
    )


FOREIGN = """---
name: pdf-forms
description: >
  Fills PDF forms, also
  scanned ones.
license: Apache-2.0
allowed-tools: [Read, "Bash(pdftk *)"]
metadata:
  author: somebody   # a comment
  recollect-failures: "2"
---
Some words before.

# PDF forms

## When to use

When a form is a PDF.

```markdown
## Steps
- not a section
```

## Steps

First look at the form.

1. Open it

## Steps
- Open it
- Fill it:
  - each field
  - each box

  and look again

## Common errors and fixes
- **Error: locked**: Unlock it
- Nothing else

## When to use
Twice.
"""


def test_what_is_not_understood_is_kept_in_its_place() -> None:
    skill = from_skill_md(FOREIGN)
    assert skill.description == "Fills PDF forms, also scanned ones."
    assert skill.steps == ("Open it", "Fill it:\n- each field\n- each box\n\nand look again")
    assert skill.errors == (KnownError("Error: locked", "Unlock it"), KnownError("Nothing else"))
    assert [section.heading for section in skill.sections] == [
        "When to use",
        "Steps",
        "Steps",
        "Common errors and fixes",
        "When to use",
    ]
    assert "- not a section" in skill.sections[0].body
    assert skill.sections[-1] == Section("When to use", "Twice.")
    assert skill.intro == "Some words before.\n\n# PDF forms"
    assert skill.extra == {
        "license": "Apache-2.0",
        "allowed-tools": ("Read", "Bash(pdftk *)"),
        "metadata": {"author": "somebody"},
    }
    assert (skill.successes, skill.failures) == (0, 2)
    assert from_skill_md(to_skill_md(skill)) == skill
    assert "First look at the form." in to_skill_md(skill)


# ---------------------------------------------------------------- laws

lines = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12
)
# What Markdown itself would read as something else: a list mark, a fence.
items = lines.filter(lambda line: not line.startswith(("-", "*", "+", "`", "~", "#", "\ufeff")))
names = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)
texts = st.text(st.characters(codec="utf-8"), max_size=30)
counts = st.integers(0, 1_000)
values = st.one_of(
    texts,
    st.lists(texts, max_size=3).map(tuple),
    st.dictionaries(names, texts, min_size=1, max_size=3),
)


def placed(others: list[Section]) -> tuple[Section, ...]:
    """Sections of a skill's own before the four, which are in their places."""
    four = ("Prerequisites", "Steps", "Common Errors & Fixes", "Exit Criteria")
    return (*others, *map(Section, four)) if others else ()


procedures = st.builds(
    Procedure,
    name=names,
    description=texts.map(str.strip).filter(bool),
    title=items | st.just(""),
    intro=items | st.just(""),
    sections=st.lists(st.builds(Section, items, items), max_size=2).map(placed),
    prerequisites=st.lists(items, max_size=3).map(tuple),
    steps=st.lists(items, max_size=12).map(tuple),
    errors=st.lists(
        st.builds(KnownError, items, items | st.just("")).filter(lambda one: "**" not in one.error),
        max_size=3,
    ).map(tuple),
    exit_criteria=st.lists(items, max_size=3).map(tuple),
    successes=counts,
    failures=counts,
    extra=st.dictionaries(st.sampled_from(["license", "compatibility", "allowed-tools"]), values),
)


@law
@given(procedures)
def test_a_procedure_survives_being_written_and_read(procedure: Procedure) -> None:
    assert from_skill_md(to_skill_md(procedure)) == procedure


@law
@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][\w.-]{0,8}", fullmatch=True).filter(str.isascii), values
    )
)
def test_frontmatter_survives_being_written_and_read(fields: dict[str, YamlValue]) -> None:
    lines, body = split_frontmatter(write_frontmatter(fields) + "\nbody")
    assert lines is not None
    assert read_frontmatter(lines) == fields
    assert body == "body"


@law
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        skill = from_skill_md(text)
    except InvalidInput:
        return
    assert from_skill_md(to_skill_md(skill)) == skill


@law
@given(texts)
def test_a_quoted_value_has_no_line_and_no_fence_in_it(value: str) -> None:
    assert "\n" not in quote_yaml(value)
    assert "---" not in quote_yaml(value)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("frontmatter", "line", "problem"),
    [
        ("name: a\nname: b", 3, "name is given twice"),
        ("name a", 2, "not `key: value`"),
        ("name: a\n\tb: c", 3, "a tab in the indentation"),
        ("  name: a", 2, "without a key above it"),
        ("description: Use it: always", 2, "a colon in it needs quotes"),
        ('description: "open', 2, "the quotes are not closed"),
        ("description: 'open", 2, "the quotes are not closed"),
        ("tools: [a, b", 2, "not closed"),
        ("tools: {a: b}", 2, "must not begin with {"),
        ("name: &anchor x", 2, "must not begin with &"),
        ("metadata:\n  a: b\n    c: d", 4, "one level of nested keys"),
        ("metadata:\n  a: b\n  a: c", 4, "a is given twice"),
        ("tools:\n  - a\n  b", 4, "not an item of the list"),
    ],
)
def test_what_is_not_in_the_subset_is_refused_with_its_line(
    frontmatter: str, line: int, problem: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_skill_md(f"---\n{frontmatter}\n---\n# X\n")
    assert problem in refused.value.message
    assert refused.value.where == f"line {line}"


def test_an_open_frontmatter_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not closed with ---"):
        from_skill_md("---\nname: a\n")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Has Spaces"},
        {"name": "a" * 65},
        {"name": "-a"},
        {"name": "a--b"},
        {"name": ""},
        {"description": " "},
        {"description": "x" * 1025},
    ],
)
def test_what_the_convention_forbids_is_not_written(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        to_skill_md(Procedure("a", "b")._replace(**change))


def test_a_name_that_is_not_allowed_is_refused_with_a_better_one() -> None:
    with pytest.raises(InvalidInput) as refused:
        from_skill_md("---\nname: gt:Analyze HAR\n---\n")
    assert refused.value.hint == "For example gt-analyze-har."


@law
@given(procedures.map(lambda one: one._replace(extra={})))
def test_whatever_we_write_passes_the_validator_of_the_convention(procedure: Procedure) -> None:
    fields, _ = parse_frontmatter(to_skill_md(procedure))
    assert validate_metadata(fields, Path("skills") / procedure.name) == []
    assert fields["description"] == procedure.description
