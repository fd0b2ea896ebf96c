"""Canonical forms: wordings of one command are one form, looking and one-time work have none."""

from __future__ import annotations

import pytest

from recollect.actions.command_forms import ELSEWHERE, CommandForm, folder_after, forms_of, runs_of
from recollect.actions.shell import outline, simple_commands


def keys(line: str, cwd: str = "") -> list[str]:
    return list(dict.fromkeys(run.form.key for run in runs_of(line, "ok", cwd)))


@pytest.mark.parametrize(
    "line",
    [
        "mise run test:ci",
        "mise run test:ci 2>&1 | tail -20",
        "cd cmd && FOO=1 mise run test:ci",
        "timeout 300 mise run test:ci > /tmp/out.txt",
        "env CI=true mise run test:ci && echo done",
        "(mise run test:ci) # once more",
        "bash -lc 'mise run test:ci'",
    ],
)
def test_seven_wordings_of_one_command_are_one_form(line: str) -> None:
    assert keys(line) == ["mise run test:ci"]


@pytest.mark.parametrize(
    ("line", "key", "purpose"),
    [
        ("go test ./x/... -run TestIt -v", "go test", "test"),
        ("pnpm --filter api test", "pnpm --filter api test", "test"),
        ("pnpm --filter web exec tsc --noEmit", "pnpm --filter web exec tsc", "typecheck"),
        ("npx jest src/a.test.ts", "npx jest", "test"),
        ("npm run build -- --watch", "npm run build", "build"),
        ("yarn workspace web lint", "yarn workspace web lint", "lint"),
        ("cargo test -p core it_works", "cargo test -p core", "test"),
        ("cargo clippy --all-targets", "cargo clippy", "lint"),
        ("./gradlew :app:test", "./gradlew :app:test", "test"),
        ("dotnet test src/A.Tests/A.Tests.csproj", "dotnet test", "test"),
        ("mix test test/a_test.exs:12", "mix test", "test"),
        ("make -C web lint", "make -C web lint", "lint"),
        ("uv run pytest -q tests/a.py", "uv run pytest", "test"),
        (".venv/bin/python -m pytest -x", ".venv/bin/python -m pytest", "test"),
        ("python manage.py migrate", "python manage.py migrate", "migrate"),
        ("bundle exec rspec spec/a_spec.rb", "bundle exec rspec", "test"),
        ("docker compose -f dev.yml up -d", "docker compose -f dev.yml up", "run"),
        ("mvn -pl core verify", "mvn -pl core verify", "check"),
        ("alembic upgrade head", "alembic", "migrate"),
        ("bash scripts/check.sh", "bash scripts/check.sh", "check"),
        ("terraform plan -out plan.bin", "terraform plan", ""),
        ("mux capture eval-verify", "mux capture eval-verify", ""),
        ("bun test src", "bun test", "test"),
    ],
)
def test_tools_of_many_languages_have_a_form_and_a_purpose(
    line: str, key: str, purpose: str
) -> None:
    (form,) = forms_of(line)
    assert (form.key, form.purpose) == (key, purpose)


@pytest.mark.parametrize(
    "line",
    [
        "grep -rn test src | head",
        "git status && git log --oneline",
        "cat Makefile; ls -la",
        "sed -n 1,20p package.json",
        "go version",
        "go env GOPATH",
        "docker ps",
        "npm ls --depth 0",
        "cargo --help",
        "npx tool@latest build",
        "python -c 'print(1)'",
        "node -e 'x()'",
        "bun -e 'x()'",
        "deno eval 'x()'",
        "npm install lodash",
        "bash /tmp/try.sh",
        "recollect recall 'make test'",
        "for f in *.go; do echo $f; done",
        "echo 'make test'",
    ],
)
def test_looking_moving_and_one_time_work_have_no_form(line: str) -> None:
    assert keys(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "npm publish",
        "make deploy",
        "sudo make install",
        "npx -y create-app",
        "terraform apply",
        "mise trust",
        "docker login",
        "make test --force",
    ],
)
def test_what_deploys_fetches_or_unlocks_is_dangerous(line: str) -> None:
    assert all(form.is_dangerous for form in forms_of(line))
    assert forms_of(line)


def test_a_wording_keeps_options_and_leaves_out_what_is_about_this_one_time() -> None:
    def wording(line: str) -> str:
        return forms_of(line)[0].wording

    assert wording("npx tsc --noEmit -p apps/web") == "npx tsc --noEmit -p apps/web"
    assert wording("go test -race ./...") == "go test -race ./..."
    assert wording("go test -run TestIt ./x") == "go test"
    assert wording("ruff check src tests") == "ruff check src tests"
    assert wording("cargo test name_of_it") == "cargo test"
    assert wording("npx jest --testPathPattern=shares") == "npx jest"
    assert wording("go build -o bin/x ./cmd") == "go build"


def test_paths_below_the_project_are_told_from_there() -> None:
    assert keys("cd /home/a/p && node /home/a/p/tools/gen.js", "/home/a/p") == ["node tools/gen.js"]
    (form,) = forms_of("cd apps/api && npx jest")
    assert form.folder == "apps/api"


def test_each_command_of_a_line_is_told_how_it_ended() -> None:
    def states(line: str, state: str) -> list[tuple[str, str]]:
        return [(run.form.key, run.state) for run in runs_of(line, state)]

    chain = "make fmt && make lint && make test"
    assert states(chain, "ok") == [("make fmt", "ok"), ("make lint", "ok"), ("make test", "ok")]
    assert {state for _, state in states(chain, "failed")} == {"unknown"}
    assert states("cd x && make test | tail", "failed") == [("make test", "failed")]
    assert states("make lint || true", "ok") == [("make lint", "unknown")]
    assert states("make lint | grep error", "ok") == [("make lint", "unknown")]
    assert states("npm run dev &", "ok") == [("npm run dev", "unknown")]
    assert states("npm run dev", "running") == [("npm run dev", "unknown")]
    assert states("make test", "running") == [("make test", "unknown")]


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("cd /p/apps/web && make x", "apps/web"),
        ("cd apps/web && cd .. && make x", "apps"),
        ("cd /p && make x", ""),
        ("(cd apps/web && npm i); make x", "lib"),
        ("cd apps/web && npm run dev &\nmake x", "lib"),
        ("cd /tmp/y && make x", ELSEWHERE),
        ("cd ../.. && make x", ELSEWHERE),
        ("cd $HOME && make x", ELSEWHERE),
    ],
)
def test_the_folder_of_a_command_is_known_or_said_to_be_unknown(line: str, folder: str) -> None:
    run = runs_of(line, "ok", "/p", "lib" if line[0] == "(" or "&\n" in line else "")[-1]
    assert (run.form.key, run.form.folder) == ("make x", folder)
    assert run.state == ("unknown" if folder == ELSEWHERE else "ok")


def test_a_command_in_another_folder_says_nothing_about_this_project() -> None:
    assert folder_after("cd apps && ls", "/p") == "apps"
    assert folder_after("(cd apps && ls)", "/p") == ""
    assert folder_after("cd /somewhere/else", "/p") == ELSEWHERE


def test_what_a_command_was_given_and_how_it_was_written_are_kept() -> None:
    (form,) = forms_of("CI=true pnpm install --no-frozen-lockfile")
    assert form.wording == form.exact == "CI=true pnpm install --no-frozen-lockfile"
    assert form.bare == "pnpm install --no-frozen-lockfile"
    (form,) = forms_of("go test ./cmd/cli/... -run TestX")
    assert (form.wording, form.target) == ("go test", "./cmd/cli/...")
    (form,) = forms_of("cargo test test_of_one_thing")
    assert (form.wording, form.target) == ("cargo test", "test_of_one_thing")


@pytest.mark.parametrize(
    ("line", "key", "wording"),
    [
        ("docker compose run --rm app pytest", "docker compose run pytest", ""),
        ("docker compose run --rm app make test", "docker compose run make test", ""),
        ("docker compose exec -T app npm test", "docker compose exec test", ""),
        ("python manage.py test --settings=x.test", "python manage.py test", ""),
        ("python tools/gen.py schema.json --lang go", "python tools/gen.py", ""),
        ("AWS_PROFILE=dev terraform plan", "terraform plan", ""),
        ("PYTHONPATH=src python -m pytest -q", "python -m pytest", ""),
        ("xvfb-run -a npm test", "npm test", ""),
        ("source .venv/bin/activate && pytest -n 4", "pytest", ""),
        ("pytest -m 'not slow' tests/a.py", "pytest", "pytest -m 'not slow'"),
        ("go test -v -count 1 -timeout 30s -run TestX ./a", "go test", "go test -timeout 30s"),
        ("cargo clippy --all-targets -- -D warnings", "cargo clippy", ""),
        ("npm test -- --watch=false src/a.test.ts", "npm test", "npm test -- --watch=false"),
        ("npm test -- src/a.test.ts", "npm test", "npm test"),
        ("make test V=1", "make test", ""),
        ("docker build -t app .", "docker build", ""),
        ("env FOO=1 pytest", "pytest", "FOO=1 pytest"),
        ("export A=1 && make lint", "make lint", "A=1 make lint"),
        ("NO_COLOR=1 timeout 60 make test", "make test", "make test"),
        ("DB=postgres://u:[REDACTED:password]@h/x go test ./...", "go test", "DB=… go test ./..."),
        ("GOCACHE=/tmp/x1 go test ./...", "go test", "GOCACHE=… go test ./..."),
        ("RUN=deadbeef12345678 make test", "make test", "RUN=… make test"),
        ("PYTHONPATH=$PWD/src pytest", "pytest", "PYTHONPATH=… pytest"),
        ("pytest --junitxml=/tmp/out.xml -q", "pytest", "pytest -q"),
    ],
)
def test_a_command_is_shown_as_it_was_run_and_counted_by_its_form(
    line: str, key: str, wording: str
) -> None:
    form = forms_of(line)[-1]
    assert (form.key, form.wording) == (key, wording or line)
    assert forms_of(form.wording)[-1].key == key


def test_words_are_cut_as_a_shell_cuts_them() -> None:
    line = 'A=1 git commit -m "$(cat <<\'EOF\'\nmake test\nEOF\n)" 2>&1 | tail; echo "a && b" # x'
    found = [[word.text for word in one.words] for one in simple_commands(line)]
    assert [words[:3] for words in found] == [
        ["A=1", "git", "commit"],
        ["tail"],
        ["echo", "a && b"],
    ]
    assert simple_commands("") == ()
    assert outline(simple_commands("git rm --cached a.txt")[0].words) == "git rm --cached"


def test_any_text_is_read_without_failing() -> None:
    for text in ("'", '"', "$(", "`", "a\\", "<<", "((", "&&&&", "\x00", "😀 | 😀", "a" * 50_000):
        assert all(isinstance(form, CommandForm) for form in forms_of(text))
