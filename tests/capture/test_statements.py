"""Plain rules as people type them, each with the words of a rule, and what only looks like one."""

from __future__ import annotations

import pytest

from recollect.capture.sentences import capture

RULES = {
    "policy": [
        "Commits must follow the conventional format.",
        "Migrations must be reversible",
        "APIs must be versioned in the path.",
        "Public functions must have docstrings.",
        "New endpoints must be documented in openapi.yaml.",
        "Commit messages must be in English.",
        "Tests for new code must run offline.",
        "Services must have automated tests.",
        "Code must be formatted with black.",
        "Documentation must be updated.",
        "Every PR must be reviewed.",
        "All new code must have tests.",
        "Nothing must be written outside the workspace.",
        "Our docs must be in British English.",
        "This project must work without network access.",
        "The API must stay backwards compatible.",
        "Test coverage must stay above 80%.",
        "The build must pass before you merge.",
        "The docs must be updated with every change.",
        "You must run the linter before committing",
        "You must get my approval before deploying.",
        "We must never ignore errors in this project.",
        "The main branch must always be deployable.",
        "Secrets must not be committed.",
        "Code review is required before merging.",
        "Type hints are required.",
        "Tests are required for every change.",
        "Two approvals are required to merge into main.",
        "Approval is required before any deployment.",
        "It is required that all strings are translated.",
        "You are required to add tests.",
        "80% coverage required for all services",
        "You are never allowed to commit on your own.",
        "All prompts, instruction files, and scripts must end with a newline.",
        "Force pushing is forbidden.",
        "Direct pushes to main are not allowed.",
        "All public functions need docstrings.",
        "don't ever push to main",
        "Do not ever commit secrets to the repo.",
        "Don't you ever touch the legacy folder.",
        "Never, ever commit secrets.",
        "Do not commit to main.",
        "please don't push directly to master",
        "Alle Tests müssen vor dem Merge grün sein.",
        "Commits müssen dem vereinbarten Format folgen.",
        "Tous les commits doivent suivre le format convenu.",
        "Les tests doivent passer avant chaque commit.",
        "Todos los commits deben seguir el formato acordado.",
        "Las pruebas deben pasar antes de cada commit.",
    ],
    "preference": [
        "Never use console.log.",
        "Always write docstrings.",
        "IMPORTANT: always work on a feature branch.",
        "Always ignore `dist`, `build` and `.env` when you search.",
        "Use absolute imports, never relative ones.",
        "Prefer early returns for better readability",
        "never push without running the tests first",
        "I prefer TypeScript in scripts.",
        "id prefer utility classes over style objects",
        "We prefer functional components over classes.",
        "My preference is tabs over spaces.",
        "i'd rather you ask before large refactorings",
        "I would rather have explicit errors than silent fallbacks.",
        "Ne pousse jamais directement sur main.",
        "Nunca subas nada directamente a main.",
    ],
    "fact": [
        "Actually, Redis is only used for caching.",
        "Actually, tests run in parallel on CI.",
        "actually we deploy from the release branch",
        "No, staging is on port 8081.",
        "No, tests live next to the code.",
        "No, use yarn in this repo.",
        "No, we deploy on Fridays too.",
        "Nein, wir benutzen yarn in diesem Projekt.",
        "Non, on utilise yarn dans ce projet.",
        "No, usamos yarn en este proyecto.",
        "We do not use Redux but Zustand.",
        "We use not npm but pnpm.",
        "The repo is hosted not on GitHub but on GitLab.",
        "We deploy with Ansible, not with Terraform.",
        "The service is written in Go, not in Rust.",
        "The backend runs on port 3000, not 8080.",
    ],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in RULES.items() for text in texts]
)
def test_a_plain_rule_is_captured_as_what_it_is(kind: str, text: str) -> None:
    assert [(found.kind, found.quote) for found in capture(text)] == [(kind, text)]


@pytest.mark.parametrize(
    "text",
    [
        # Guesses.
        "the button must be broken on the login page",
        "Tests must be failing because of the cache.",
        "Logic problems must be elsewhere in the code.",
        "Commits must be missing from the branch somehow.",
        "Migrations must have run twice on the server.",
        "that test must never have worked in the first place",
        "you must have misunderstood what I asked for",
        "Your shoes must have a lot of stories behind them.",
        # This moment.
        "you must fix this now, it is urgent",
        "We must fix the login page before the release.",
        "You must restart the server to see the change.",
        "We must finish this today, so hurry up.",
        "You must create a file named report.md with the findings.",
        "A migration is required for this new column, please write it.",
        "no, actually run the tests and show me the output",
        # What is to be built.
        "the function must return 3 for this input",
        "The result must be 42 in this case.",
        "the header must be blue and the footer gray",
        "Users must be able to log in with Google.",
        "Buttons must be blue on this page.",
        "when the user clicks save the dialog must close",
        # Questions and conditions.
        "is authentication required for the health endpoint",
        "Why must every commit be signed in this repo?",
        "How many approvals are required for the merge?",
        "If commits must be signed then we need a key.",
        "No approval is required for this one, just merge it.",
        "install everything that is required for the build",
        # What somebody or something else says.
        "The readme says that all tests must pass.",
        "She said the report must be ready by Friday.",
        "the docs say that tests are required here",
        "The name field is required in the form.",
        "Two arguments are required but only one was given",
        'List items must be of type "listItem", got "object"',
        "Function Runtimes must have a valid version, for example 1.0.0",
        "Project names must be between 2 and 100 characters",
        "Template inputs must be objects.",
        "Graph node ids must not be empty",
        "Subclasses must implement the execute method",
        "The design must remain compatible with the old header[10].",
        # Reports.
        "no, tables are not there on the second page",
        "No, it still does not work on my machine.",
        "the section title now is to the left, not centered",
        "I never use that function, so delete it.",
        "Actually, nothing is shown on the page.",
        "i wonder what we prefer to eat when we are there",
        "cada sección debe tener los siguientes botones",
    ],
)
def test_what_only_sounds_like_a_rule_is_left_alone(text: str) -> None:
    assert capture(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "> Commits must follow the conventional format.",
        "`Commits must follow the conventional format.`",
        "```\nCommits must follow the conventional format.\n```",
        '"Code review is required before merging."',
        "2026-01-02 10:00:00 ERROR Tokens must be refreshed before every request.",
        "I get this error:\nImports must be sorted.",
        "Certainly! Here is the plan.\n\nCommits must follow the conventional format.",
    ],
)
def test_a_plain_rule_that_is_quoted_or_pasted_is_left_alone(text: str) -> None:
    assert capture(text) == []
