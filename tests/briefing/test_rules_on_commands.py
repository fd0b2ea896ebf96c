"""Rules as developers write them, each with a command, judged by hand: is it said before it?"""

from __future__ import annotations

import shlex

import pytest

from recollect.briefing import command_rules

CONCERN = (
    ("Never commit with --no-verify.", "git commit --no-verify -m x"),
    ("Don't push with --force.", "git push --force origin feature"),
    ("Never use --no-verify when committing.", "git commit -n -m x"),
    ("Always commit with -S", "git commit -s -m x"),
    ("commit with --gpg-sign", "git commit -m x"),
    ("Never commit without --signoff.", "git commit -m x"),
    ("Never force push to main.", "git push -f origin main"),
    ("Don't force-push shared branches.", "git push origin feature -f"),
    ("Never push to main.", "git push origin main"),
    ("Never push to main.", "git push"),
    ("Never push directly to main, open a PR.", "git push origin HEAD:main"),
    ("Don't push unless I ask you to.", "git push origin feature"),
    ("Do not commit anything without asking me first.", "git commit -am wip"),
    ("Never commit code without tests.", "git commit -m x"),
    ("Never push. I do that myself.", "git push"),
    ("Before pushing, run the full test suite.", "git push origin feature"),
    ("Run cargo fmt before committing changes.", "git commit -m x"),
    ("Whenever you commit, update CHANGELOG.md.", "git commit -m x"),
    ("Write commit messages in the imperative mood.", "git commit -m x"),
    ("Commit messages must reference the ticket.", "git commit -m x"),
    ("No emojis in commit messages, please.", "git commit -m x"),
    ("Use conventional commits.", "git commit -m x"),
    ("I prefer small commits with a test in each.", "git commit -m x"),
    ("Use podman instead of docker.", "docker run x"),
    ("No docker here.", "docker compose up"),
    ("We use just, not make.", "make build"),
    ("Don't use npm or yarn, this is a pnpm workspace.", "yarn install"),
    ("Never run `git push --force`.", "git push origin feature --force"),
    ("Never use rm -rf.", "rm -fr build"),
    ("Don't use git add -A, stage files by name.", "git add -A"),
    ("Don't use git add .", "git add ."),
    ("Never run terraform apply yourself.", "terraform apply -auto-approve"),
    ("Don't use moment, use date-fns.", "npm install moment@2"),
    ("Stop using the requests library.", "pip install requests>=2"),
    ("Use vitest rather than jest.", "jest --watch"),
    ("Prefer rg over grep.", "grep -rn foo src"),
    ("Never run `alembic downgrade` on the shared database.", "alembic downgrade -1"),
    ("Never run npm install globally.", "npm install -g x"),
    ("Regenerate the client before running make test.", "make test"),
    ("Don't run git stash, I lose work that way.", "git stash"),
    ("Never use `git commit --amend`.", "git commit --amend --no-edit"),
    ("Always sign commits: commit with -S.", "git commit -m x"),
    ("Don't ever run prisma migrate reset.", "prisma migrate reset"),
    ("Use bun instead of node", "node a.js"),
    ("Please don't use pip directly, use uv.", "pip install x"),
    ("You must not push to master", "git push origin master"),
    ("Please run `make lint` before each commit so CI stays green", "git commit -m x"),
    ("Every time you push, check the CI status.", "git push"),
    ("Keep commit messages under 72 characters.", "git commit -m x"),
    ("Commit messages: lower case, no full stop.", "git commit -m x"),
    ("Don't add Co-Authored-By lines to commit messages.", "git commit -m x"),
    ("Never commit directly to main.", "git commit -m x"),
    ("Do not use unittest or nose, we use pytest.", "nose tests"),
    ("Stop running npm install, the lockfile changes.", "npm install"),
    ("Never run kubectl delete against prod.", "kubectl delete pod x"),
    ("No lodash, write plain JS.", "npm i lodash"),
    ("Don't use curl for the API, use httpie.", "curl http://x"),
    ("Don't commit until I have reviewed the diff.", "git commit -m x"),
    ("Always run the formatter before pushing to origin.", "git push origin x"),
)
OTHERS = (
    ("Never commit with --no-verify.", "git commit -m x"),
    ("Don't push with --force.", "git push origin feature"),
    ("Don't push with --force.", "git push --force-with-lease origin feature"),
    ("Always commit with -S", "git commit -S -m x"),
    ("commit with --gpg-sign", "git commit -S -m x"),
    ("Don't forget to commit with --signoff.", "git commit -s -m x"),
    ("Never commit without --signoff.", "git commit --signoff -m x"),
    ("Never push to main.", "git push origin feature"),
    ("Never push to main.", "git push -u origin fix/main-menu"),
    ("Never force push to main.", "git push -f origin feature"),
    ("Never force push to main.", "git push origin main"),
    ("Don't use print in src.", "git add print"),
    ("Never write src code without tests", "git add -A src tests"),
    ("Whenever I commit to a plan, remind me", "git commit -m x"),
    ("Commit messages in the changelog are grouped by type.", "git commit -m x"),
    ("The release script reads commit messages since the last tag.", "git commit -m x"),
    ("Don't parse commit messages in the hook.", "git commit -m x"),
    ("Never commit API keys to the repo.", "git commit -m x"),
    ("When a commit breaks the build, bisect it.", "git commit -m x"),
    ("The commit hook checks formatting.", "git commit -m x"),
    ("When we push a new version to production, tell marketing", "git push origin feature"),
    ("Don't push back on scope changes without data.", "git push origin feature"),
    ("We use push notifications, never polling.", "git push"),
    ("Never deploy without running make check.", "make check"),
    ("Never make test data by hand.", "make test"),
    ("Don't make `app.py` any longer.", "make"),
    ("Do not go over 80 columns.", "go build"),
    ("Use podman instead of docker.", "podman run x"),
    ("Not dotnet, plain mono.", "tnet build"),
    ("The image is not docker specific.", "docker build ."),
    ("No node modules in the repository.", "node server.js"),
    ("Don't use git add -A, stage files by name.", "git add src/a.py"),
    ("Don't use git add .", "git add src/a.py"),
    ("Never run `git push --force`.", "git push origin feature"),
    ("Never use rm -rf.", "rm notes.txt"),
    ("Don't use docker desktop.", "docker ps"),
    ("No python 2 code.", "python -m app"),
    ("Use `uv run pytest`, not pytest.", "uv run pytest -q"),
    ("Never use find in templates.", "find . -name x"),
    ("Tests run in docker, the app does not.", "docker compose up"),
    ("Prefer composition over inheritance.", "git commit -m x"),
    ("Never run terraform apply yourself.", "terraform plan"),
    ("Don't import from tests in src.", "npm test"),
    ("Stop explaining what git does.", "git log"),
    ("Don't touch the vendor folder.", "touch vendor/x"),
    ("Avoid sort in hot loops.", "sort names.txt"),
    ("Never use the requests library, use httpx.", "git add requests"),
    ("Keep the commits of a release together in the notes.", "git commit -m x"),
    ("Before the push service starts, wait for redis.", "git push"),
    ("Docker images are built by CI, do not tag them by hand.", "docker tag a b"),
    ("Don't use time.sleep in tests.", "time make"),
    ("Never log passwords.", "git log"),
    ("Don't branch on user agent.", "git branch x"),
    ("Never merge two concerns in one function.", "git merge x"),
    ("Use tabs, not spaces.", "git diff"),
    ("Avoid make-believe data in fixtures.", "make"),
    ("Do not test private functions.", "test -f x"),
    ("Don't use node:fs directly, go through storage.", "node a.js"),
    ("The docker image must be under 200 MB.", "docker build ."),
    ("Before pushing a feature flag live, ask product.", "git push"),
    ("When the push fails with 403, refresh the token.", "git status"),
    ("I commit on Fridays.", "git commit -m x"),
    ("Never block on git.", "git fetch"),
    ("Don't use any in TypeScript.", "npm install any"),
    ("Never use python's eval.", "python a.py"),
    ("Avoid pip in docs examples; say uv.", "uv pip list"),
    ("Don't start sentences with And.", "npm start"),
    ("Don't use npm scripts for deployment.", "npm test"),
    ("Never use docker-compose v1.", "docker compose up"),
    ("Don't use cargo cult patterns.", "cargo build"),
    ("Use ruff, not black, for formatting.", "ruff format"),
    ("Push to main only via PR.", "git status"),
    ("Do not read the whole file at once.", "cat x"),
    ("Never kill the dev server.", "killall x"),
    ("Avoid using find_by in Rails.", "find ."),
)


@pytest.mark.parametrize(("rule", "line"), CONCERN)
def test_a_rule_about_a_command_is_said_before_it(rule: str, line: str) -> None:
    assert command_rules.concerns(rule, shlex.split(line))
    watched = command_rules.write_watched(
        {name: ["m-1"] for name in command_rules.named_programs(rule)}
    )
    assert command_rules.rules_on(watched, line) == ["m-1"]


@pytest.mark.parametrize(("rule", "line"), OTHERS)
def test_a_rule_that_only_shares_a_word_is_not_said(rule: str, line: str) -> None:
    assert not command_rules.concerns(rule, shlex.split(line))


@pytest.mark.xfail(strict=True, reason="wrappers are taken off a command before it is matched")
def test_a_rule_about_a_wrapper_is_said_before_it() -> None:
    assert command_rules.concerns("Avoid using sudo pip, use a venv.", ["pip", "install", "x"])
