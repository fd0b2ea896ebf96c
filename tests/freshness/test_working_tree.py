"""Claims against real repositories: what is pinned, what is noticed, what it costs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.freshness.claims import Claim, PinnedClaim, extract_claims
from recollect.freshness.git_io import read_git_state
from recollect.freshness.stamps_io import find_changed, index_stamp, stamp_of
from recollect.freshness.working_tree_io import WorkTree

LONG_AGO = 1_600_000_000

CLIENT = """class Client:
    def send(self, request, stream=False):
        return self.transport.handle(request)

    def close(self):
        self.transport.close()


def retry(call, times=3):
    for _ in range(times):
        call()
"""


class Repository:
    """A working tree with git, where files are as old as in real life."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": "/"}
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
        done = subprocess.run(
            ("git", *identity, *arguments),
            cwd=self.root,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def write(self, path: str, text: str, age: int = 0) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (LONG_AGO + age, LONG_AGO + age))

    def commit(self, message: str = "change") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def pin(self, *claims: Claim) -> list[PinnedClaim]:
        return WorkTree(str(self.root)).pin(claims)

    def state(self, *known: PinnedClaim, thorough: bool = False) -> list[tuple[str, str]]:
        checked = WorkTree(str(self.root)).check(known, thorough)
        return [(item.state, item.moved_to) for item in checked]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "project")
    repository.write("src/client.py", CLIENT)
    repository.write("docs/guide.md", "Use `retry` with care, it blocks.\n")
    repository.commit("first")
    return repository


def symbol(path: str, name: str) -> Claim:
    return Claim(path, name, 0, "symbol")


def declaration(path: str, name: str) -> Claim:
    return Claim(path, name, 0, "declaration")


# -------------------------------------------------------------------- looking


def test_a_blob_is_the_one_that_git_makes(repository: Repository) -> None:
    tree = WorkTree(str(repository.root))
    assert tree.blob("src/client.py") == repository.git("hash-object", "src/client.py")
    assert tree.blob("src") == "directory"
    assert tree.blob("src/none.py") == ""


def test_a_pinned_claim_holds_what_was_seen(repository: Repository) -> None:
    (known,) = repository.pin(symbol("src/client.py", "Client.send"))
    assert known.blob == repository.git("rev-parse", "HEAD:src/client.py")
    assert known.committed == repository.git("rev-parse", "HEAD")
    assert known.stamp == stamp_of(os.stat(repository.root / "src/client.py"))
    assert known.state == "fresh" and len(known.sign) == 16


def test_while_the_stamp_holds_nothing_is_read(repository: Repository) -> None:
    (known,) = repository.pin(Claim("src/client.py"))
    other = known._replace(blob="0" * 40)
    assert repository.state(other) == [("fresh", "")]
    assert repository.state(other._replace(stamp="")) == [("changed", "")]


def test_an_edit_of_the_same_size_that_sets_the_time_back_is_seen(repository: Repository) -> None:
    (known,) = repository.pin(Claim("src/client.py"))
    repository.write("src/client.py", CLIENT.replace("retry", "again"))
    assert (repository.root / "src/client.py").stat().st_mtime == LONG_AGO
    assert repository.state(known) == [("changed", "")]


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_seen(repository: Repository) -> None:
    repository.write("src/other.py", CLIENT.replace("retry", "again"))
    (known,) = repository.pin(Claim("src/client.py"))
    (repository.root / "src/other.py").replace(repository.root / "src/client.py")
    assert repository.state(known) == [("changed", "")]


def test_only_what_changed_since_the_last_look_is_named(repository: Repository) -> None:
    root = str(repository.root)
    (file, folder) = repository.pin(Claim("src/client.py"), Claim("docs", given=True))
    gone = file._replace(path="src/gone.py", stamp=f"|{index_stamp(root)}")
    looks = {(item.path, item.stamp) for item in (file, folder, gone)}
    assert find_changed(root, looks) == set()
    repository.write("src/client.py", CLIENT, age=1)
    assert find_changed(root, looks) == {("src/client.py", file.stamp)}
    repository.write("src/gone.py", "")
    shutil.rmtree(repository.root / "docs")
    assert find_changed(root, looks) == looks
    assert find_changed(root, {("no\0path", "1-2-3"), ("never looked at", "")}) == {
        ("no\0path", "1-2-3"),
        ("never looked at", ""),
    }


def test_a_look_that_finds_nothing_new_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    """It happens before every prompt: processes, hashes and parsers are for what changed."""
    script = (
        "import sys; from recollect.freshness import stamps_io; stamps_io.find_changed(sys.argv[1], [('a', 'b')]);"
        "print(sorted({'subprocess', 'hashlib', 'ast', 'tomllib'} & set(sys.modules)))"
    )
    environment = {"PYTHONPATH": str(Path(recollect.__file__).parent.parent)}
    done = subprocess.run(
        (sys.executable, "-S", "-c", script, str(tmp_path)),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[]\n"


def test_a_file_that_was_touched_only_is_fresh_and_gets_its_new_stamp(
    repository: Repository,
) -> None:
    (known,) = repository.pin(Claim("src/client.py"))
    repository.write("src/client.py", CLIENT, age=5)
    (checked,) = WorkTree(str(repository.root)).check([known])
    assert checked == known._replace(stamp=checked.stamp) != known
    assert checked.stamp == stamp_of(os.stat(repository.root / "src/client.py"))


def test_a_file_that_changed_just_now_is_read_again_next_time(repository: Repository) -> None:
    (repository.root / "new.py").write_text("A = 1\n")
    (known,) = repository.pin(Claim("new.py"))
    assert known.stamp == ""
    (repository.root / "new.py").unlink()
    assert repository.state(known) == [("missing", "")]


def test_a_changed_claim_stays_changed_until_the_file_changes_again(repository: Repository) -> None:
    (known,) = repository.pin(Claim("src/client.py"))
    repository.write("src/client.py", "A = 1\n", age=1)
    tree = WorkTree(str(repository.root))
    (other,) = tree.check([known])
    assert WorkTree(str(repository.root)).check([other]) == [other]
    repository.write("src/client.py", CLIENT, age=2)
    assert repository.state(other) == [("fresh", "")]


# -------------------------------------------------------------------- parts of files


@pytest.mark.parametrize(
    ("change", "whole", "head"),
    [
        (lambda text: "# new\n" + text, "fresh", "fresh"),
        (lambda text: text.replace("self, request, stream", "self,\n        request,\n        stream"), "fresh", "fresh"),
        (lambda text: text.replace("def close(self):", "def close(self, now):"), "fresh", "fresh"),
        (lambda text: text.replace("handle(request)", "handle(request, 1)"), "changed", "fresh"),
        (lambda text: text.replace("stream=False", "stream=True"), "changed", "changed"),
        (lambda text: text.replace("def send", "async def send"), "changed", "changed"),
        (lambda text: text.replace("def send", "def post"), "missing", "missing"),
        (lambda text: text.replace("class Client", "class Session"), "missing", "missing"),
    ],
)  # fmt: skip
def test_a_symbol_is_judged_by_its_own_definition(
    repository: Repository, change: Callable[[str], str], whole: str, head: str
) -> None:
    known = repository.pin(
        symbol("src/client.py", "Client.send"), declaration("src/client.py", "Client.send")
    )
    repository.write("src/client.py", change(CLIENT), age=1)
    assert [state for state, _ in repository.state(*known)] == [whole, head]


def test_a_line_is_found_again_where_it_moved_to(repository: Repository) -> None:
    (known,) = repository.pin(Claim("src/client.py", "", 3, "line"))
    repository.write("src/client.py", "\n\n\n" + CLIENT, age=1)
    assert repository.state(known) == [("fresh", "")]
    repository.write("src/client.py", CLIENT.replace("handle", "process"), age=2)
    assert repository.state(known) == [("changed", "")]


def test_commands_and_keys_are_judged_by_their_own_value(repository: Repository) -> None:
    repository.write("Makefile", "lint:\n\truff check\n\ntest: lint\n\tpytest\n")
    repository.write("package.json", '{"scripts": {"test": "jest", "build": "tsc"}}')
    repository.write("pyproject.toml", "[tool.ruff]\nline-length = 100\n")
    texts = ("`make lint` checks", "`npm test` runs jest", "`tool.ruff.line-length` is 100")
    known = [item for text in texts for item in repository.pin(*extract_claims(text))]
    assert [item.kind for item in known] == ["command", "command", "key"]
    repository.write("Makefile", "lint:\n\truff check\n\ntest: lint\n\tpytest -x\n", age=1)
    repository.write("package.json", '{"scripts": {"test": "vitest"}}', age=1)
    repository.write("pyproject.toml", "[tool.black]\nline-length = 100\n", age=1)
    assert [state for state, _ in repository.state(*known)] == ["fresh", "changed", "missing"]


@pytest.mark.parametrize(
    ("file", "name", "text", "edited"),
    [
        ("a.ts", "Server.start", "class Server {\n  start(port: number) {\n    go(port);\n  }\n}\n", "go(1)"),
        ("a.go", "Server.Start", "type Server struct{}\n\nfunc (s *Server) Start() {\n\tgo(port)\n}\n", "go(1)"),
        ("a.rs", "Store::open", "struct Store;\nimpl Store {\n    fn open() {\n        go(port)\n    }\n}\n", "go(1)"),
    ],
)  # fmt: skip
def test_other_languages_are_judged_the_same(
    repository: Repository, file: str, name: str, text: str, edited: str
) -> None:
    repository.write(file, text)
    cited = [Claim(file, name, 0, "symbol", True), Claim(file, f"{name}Later", 0, "symbol", True)]
    found, missing = WorkTree(str(repository.root)).pin(cited)
    assert (found.state, missing.state) == ("fresh", "unverifiable")
    known = repository.pin(symbol(file, name), declaration(file, name))
    repository.write(file, "\n\n" + text, age=1)
    assert [state for state, _ in repository.state(*known)] == ["fresh", "fresh"]
    repository.write(file, text.replace("go(port)", edited), age=2)
    assert [state for state, _ in repository.state(*known)] == ["changed", "fresh"]
    repository.write(file, "", age=3)
    assert [state for state, _ in repository.state(*known)] == ["missing", "missing"]


def test_a_directory_is_there_or_not(repository: Repository) -> None:
    (known,) = repository.pin(Claim("docs"))
    repository.write("docs/other.md", "more\n")
    assert repository.state(known) == [("fresh", "")]
    shutil.rmtree(repository.root / "docs")
    assert repository.state(known) == [("missing", "")]


# -------------------------------------------------------------------- moves


def rename(repository: Repository, old: str, new: str) -> None:
    (repository.root / new).parent.mkdir(parents=True, exist_ok=True)
    (repository.root / old).rename(repository.root / new)


def test_a_renamed_file_is_found_before_git_knows_of_it(repository: Repository) -> None:
    known = repository.pin(Claim("src/client.py"), Claim("docs/guide.md"))
    rename(repository, "src/client.py", "lib/http/client.py")
    assert repository.state(*known) == [("moved", "lib/http/client.py"), ("fresh", "")]
    repository.git("add", "--all")
    assert repository.state(*known)[0] == ("moved", "lib/http/client.py")


def test_a_file_renamed_and_edited_is_found_by_its_history(repository: Repository) -> None:
    known = repository.pin(Claim("src/client.py"), symbol("src/client.py", "retry"))
    rename(repository, "src/client.py", "src/session.py")
    repository.write("src/session.py", CLIENT + "\nLIMIT = 3\n")
    repository.commit("rename")
    # The first claim is covered by the second.
    assert [item.symbol for item in known] == ["retry"]
    assert repository.state(*known) == [("moved", "src/session.py")]
    (file,) = [PinnedClaim("src/client.py", "", 0, "file", known[0].blob, "", known[0].committed)]
    assert repository.state(file) == [("moved", "src/session.py")]


def test_only_a_thorough_check_follows_a_rename_through_a_rewrite(repository: Repository) -> None:
    (known,) = repository.pin(Claim("src/client.py"))
    repository.git("mv", "src/client.py", "src/one.py")
    repository.commit("rename")
    repository.git("mv", "src/one.py", "src/two.py")
    repository.commit("rename again")
    repository.write("src/two.py", "\n".join(f"VALUE_{n} = {n}" for n in range(50)))
    repository.commit("rewrite")
    assert repository.state(known) == [("missing", "")]
    (missing,) = WorkTree(str(repository.root)).check([known])
    assert repository.state(missing, thorough=True) == [("moved", "src/two.py")]


def test_a_deleted_file_is_missing(repository: Repository) -> None:
    known = repository.pin(symbol("src/client.py", "retry"), Claim("docs/guide.md"))
    repository.git("rm", "--quiet", "src/client.py", "docs/guide.md")
    repository.commit("delete")
    assert repository.state(*known) == [("missing", ""), ("missing", "")]


def test_a_symbol_that_moved_to_another_file_is_found_there(repository: Repository) -> None:
    known = repository.pin(symbol("src/client.py", "retry"), symbol("src/client.py", "Client.send"))
    head, tail = CLIENT.split("\n\n\n")
    repository.write("src/client.py", head, age=1)
    repository.write("src/retrying.py", tail)
    assert repository.state(*known) == [("moved", "src/retrying.py"), ("fresh", "")]


def test_a_namesake_that_was_there_before_is_no_move(repository: Repository) -> None:
    repository.write("src/other.py", "def retry():\n    pass\n")
    repository.commit("namesake")
    (known,) = repository.pin(symbol("src/client.py", "retry"))
    repository.write("src/client.py", CLIENT.split("\n\n\n")[0], age=1)
    assert repository.state(known) == [("missing", "")]


def test_a_symbol_that_two_files_define_now_is_missing(repository: Repository) -> None:
    (known,) = repository.pin(symbol("src/client.py", "retry"))
    head, tail = CLIENT.split("\n\n\n")
    repository.write("src/client.py", head, age=1)
    repository.write("src/a.py", tail)
    repository.write("src/b.py", tail)
    assert repository.state(known) == [("missing", "")]


def test_what_was_lost_is_looked_for_again_when_the_tree_changes(repository: Repository) -> None:
    (known,) = repository.pin(symbol("src/client.py", "retry"))
    head, tail = CLIENT.split("\n\n\n")
    repository.write("src/client.py", head, age=1)
    (missing,) = WorkTree(str(repository.root)).check([known])
    assert missing.state == "missing"
    assert WorkTree(str(repository.root)).check([missing]) == [missing]
    repository.write("src/retrying.py", tail)
    repository.commit("moved")
    assert repository.state(missing) == [("moved", "src/retrying.py")]


# -------------------------------------------------------------------- pinning


def test_a_text_is_pinned_where_its_names_are(repository: Repository) -> None:
    known = repository.pin(
        *extract_claims("`retry` in client.py blocks. See docs/guide.md and lib/none.py.")
    )
    assert [(item.path, item.symbol) for item in known] == [
        ("src/client.py", "retry"),
        ("docs/guide.md", ""),
    ]


def test_a_symbol_without_a_file_is_pinned_where_it_alone_is_defined(
    repository: Repository,
) -> None:
    (known,) = repository.pin(*extract_claims("`Client.send` returns early"))
    assert known.path == "src/client.py"
    repository.write("src/copy.py", CLIENT)
    assert repository.pin(*extract_claims("`Client.send` returns early")) == []


def test_a_partial_path_is_completed_only_when_one_file_fits(repository: Repository) -> None:
    assert [item.path for item in repository.pin(Claim("client.py"))] == ["src/client.py"]
    repository.write("lib/client.py", "")
    assert repository.pin(Claim("client.py")) == []


def test_a_citation_that_cannot_be_found_stays_as_unverifiable(repository: Repository) -> None:
    given = Claim("lib/none.py", "f", 0, "symbol", given=True)
    (known,) = repository.pin(given)
    assert known == PinnedClaim("lib/none.py", "f", 0, "symbol")
    assert repository.state(known) == [("unverifiable", "")]


def test_a_mention_is_enough_for_a_citation_alone(repository: Repository) -> None:
    assert repository.pin(symbol("docs/guide.md", "care")) == []
    (known,) = repository.pin(symbol("docs/guide.md", "care")._replace(given=True))
    repository.write("docs/guide.md", "Take care.\n", age=1)
    assert repository.state(known) == [("fresh", "")]
    repository.write("docs/guide.md", "Careful.\n", age=2)
    assert repository.state(known) == [("missing", "")]


# -------------------------------------------------------------------- the edges


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/hostname", "src/../../secret.txt", "out", "out/secret.txt", "a\0b", ""]
)  # fmt: skip
def test_no_path_leaves_the_root(repository: Repository, path: str) -> None:
    (repository.root.parent / "secret.txt").write_text("secret")
    (repository.root / "out").symlink_to(repository.root.parent)
    tree = WorkTree(str(repository.root))
    assert (tree.stamp(path), tree.blob(path), tree.text(path)) == ("", "", "")
    assert tree.pin([Claim(path)]) == []
    if path:
        known = PinnedClaim(path, "", 0, "file", "0" * 40, state="fresh", stamp="6-1")
        assert tree.check([known])[0].state == "missing"


def test_a_symlink_inside_the_root_is_followed(repository: Repository) -> None:
    (repository.root / "alias.py").symlink_to(repository.root / "src/client.py")
    tree = WorkTree(str(repository.root))
    assert tree.blob("alias.py") == tree.blob("src/client.py") != ""


def test_an_absolute_path_below_the_root_is_the_path_inside_it(repository: Repository) -> None:
    tree = WorkTree(str(repository.root))
    (known,) = tree.pin([Claim(str(repository.root / "src/client.py"))])
    assert known.path == "src/client.py"


def test_without_git_files_are_judged_and_what_is_lost_stays_lost(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(): ...\n")
    known = WorkTree(str(tmp_path)).pin([symbol("a.py", "f"), symbol("a.py", "g")])
    assert [(item.symbol, item.committed) for item in known] == [("f", "")]
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert WorkTree(str(tmp_path)).check(known)[0].state == "missing"


def test_a_machine_without_git_is_a_tree_without_git(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = repository.pin(Claim("src/client.py"), Claim("docs/guide.md"))
    (repository.root / "src/client.py").unlink()
    monkeypatch.setenv("PATH", str(repository.root / "nowhere"))
    assert repository.state(*known) == [("missing", ""), ("fresh", "")]


def test_a_number_of_claims_costs_no_more_processes_than_a_few(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(40):
        repository.write(f"src/m{number}.py", f"def task_{number}():\n    return {number}\n")
    repository.commit("many")
    known = repository.pin(*(symbol(f"src/m{n}.py", f"task_{n}") for n in range(40)))
    for number in range(40):
        repository.git("mv", f"src/m{number}.py", f"src/n{number}.py")
    repository.commit("moved")
    counted, real = tmp_path / "bin", shutil.which("git")
    counted.mkdir()
    (counted / "git").write_text(f'#!/bin/sh\necho x >> "{tmp_path}/calls"\nexec {real} "$@"\n')
    (counted / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{counted}:{os.environ['PATH']}")
    checked = WorkTree(str(repository.root)).check(known)
    assert [item.moved_to for item in checked] == [f"src/n{n}.py" for n in range(40)]
    assert len((tmp_path / "calls").read_text().split()) <= 5
    (tmp_path / "calls").write_text("")
    assert WorkTree(str(repository.root)).check(checked) == checked
    assert (tmp_path / "calls").read_text() == ""


def test_a_linked_worktree_and_a_folder_below_the_root_have_an_index(
    repository: Repository,
) -> None:
    assert index_stamp(str(repository.root))
    assert index_stamp(str(repository.root / "src"))
    repository.git("worktree", "add", "--quiet", str(repository.root.parent / "linked"))
    linked = Repository.__new__(Repository)
    linked.root = repository.root.parent / "linked"
    assert index_stamp(str(linked.root))
    known = WorkTree(str(linked.root)).pin([Claim("src/client.py")])
    rename(linked, "src/client.py", "src/session.py")
    assert linked.state(*known) == [("moved", "src/session.py")]


def test_a_project_below_the_root_of_its_repository_sees_its_own_paths(
    repository: Repository,
) -> None:
    repository.write("apps/web/a.py", CLIENT.replace("retry", "again"))
    repository.commit("monorepo")
    inner = Repository.__new__(Repository)
    inner.root = repository.root / "apps/web"
    (known,) = inner.pin(symbol("a.py", "again"))
    rename(inner, "a.py", "b.py")
    inner.write("b.py", CLIENT.replace("retry", "again") + "\nX = 1\n")
    repository.commit("rename")
    file = known._replace(symbol="", sign="", kind="file")
    assert inner.state(known, file) == [("moved", "b.py"), ("moved", "b.py")]


def test_variables_of_a_running_git_hook_do_not_mislead(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    (known,) = repository.pin(Claim("src/client.py"))
    assert len(known.committed) == 40


@pytest.mark.parametrize(
    "claim",
    [
        PinnedClaim("a\nb.py", "f", 0, "symbol", "1" * 40, "s", "not a commit"),
        PinnedClaim("a.py", "f|.*", 0, "symbol", "1" * 40, "s", "0" * 40),
        PinnedClaim("a.py", "--help", 0, "symbol", "1" * 40, "s", "--all"),
        PinnedClaim("-a.py", "", 0, "file", "1" * 40, "", "HEAD"),
        PinnedClaim("a.py", "(", 0, "declaration", "1" * 40, "s", "f" * 64),
        PinnedClaim("ä ü.py", "größe", 0, "symbol", "1" * 40, "s", ""),
    ],
)
def test_hostile_claims_are_missing_and_nothing_worse(
    repository: Repository, claim: PinnedClaim
) -> None:
    assert repository.state(claim, claim, thorough=True) == [("missing", "")] * 2
    given = Claim(claim.path, claim.symbol, 0, claim.kind, given=True)
    assert [item.state for item in repository.pin(given)] == ["unverifiable"]


def test_binary_and_large_files_are_compared_as_a_whole(repository: Repository) -> None:
    (repository.root / "data.bin").write_bytes(b"\0" * 100)
    (repository.root / "large.py").write_bytes(b"x = 1\n" * 400_000)
    tree = WorkTree(str(repository.root))
    assert tree.text("data.bin") == tree.text("large.py") == ""
    known = tree.pin([Claim("data.bin"), Claim("large.py")])
    (repository.root / "large.py").write_bytes(b"y = 1\n" * 400_000)
    assert repository.state(*known) == [("fresh", ""), ("changed", "")]


def test_an_odd_name_is_found_again(repository: Repository) -> None:
    repository.write('tä "b"\t.txt', "some text that is long enough\n" * 5)
    repository.commit("odd")
    (known,) = repository.pin(Claim('tä "b"\t.txt'))
    repository.git("mv", 'tä "b"\t.txt', "plain.txt")
    assert repository.state(known) == [("moved", "plain.txt")]
    repository.write("plain.txt", "some text that is long enough\n" * 5 + "more\n")
    repository.commit("edited")
    assert repository.state(known) == [("moved", "plain.txt")]


def test_an_empty_file_that_is_gone_is_not_found_in_another_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    known = WorkTree(str(tmp_path)).pin([Claim("a.py", given=True)])
    (tmp_path / "a.py").unlink()
    (tmp_path / "b.py").write_text("")
    (seen,) = WorkTree(str(tmp_path)).check(known)
    assert (seen.state, seen.moved_to) == ("missing", "")


def test_the_state_of_a_tree_is_its_own_also_inside_the_git_hook_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = Repository(tmp_path / "here"), Repository(tmp_path / "other")
    here.commit("ours")
    other.commit("theirs")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    (commit,) = read_git_state(str(here.root)).commits
    assert commit.endswith(" ours")
