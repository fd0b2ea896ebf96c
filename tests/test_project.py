"""Which project a directory belongs to, with real repositories; and where the files go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.project import current_branch, find_project, private_folder, user_directory


def git(place: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c",
         "protocol.file.allow=always", *arguments],
        cwd=place, check=True, capture_output=True,
    )  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "-b", "main")
    (place / "file").write_text("content")
    git(place, "add", ".")
    git(place, "commit", "-m", "first")
    return place


def root(place: Path) -> Path:
    return Path(find_project(str(place)).root)


def test_a_repository_is_one_project_from_every_directory_in_it(repository: Path) -> None:
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    assert root(deep) == root(repository) == repository


def test_worktrees_share_the_project_of_their_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", str(tmp_path / "elsewhere" / "tree"))
    (tmp_path / "elsewhere" / "tree" / "sub").mkdir()
    assert root(tmp_path / "elsewhere" / "tree" / "sub") == repository
    assert current_branch(str(tmp_path / "elsewhere" / "tree")) == "tree"
    assert current_branch(str(repository)) == "main"


def test_a_clone_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", str(repository), "clone")
    assert root(tmp_path / "clone") == tmp_path / "clone"


def test_worktrees_of_a_bare_repository_share_one_project(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", str(tmp_path / "one"), "-b", "one")
    git(tmp_path / "bare.git", "worktree", "add", str(tmp_path / "two"), "-b", "two")
    assert root(tmp_path / "one") == root(tmp_path / "two") == tmp_path / "bare.git"


def test_a_submodule_and_its_worktrees_are_one_project_apart_from_the_outer_one(
    repository: Path, tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-b", "main")
    git(outer, "submodule", "add", str(repository), "inner")
    git(outer / "inner", "worktree", "add", str(tmp_path / "inner-tree"))
    assert root(outer / "inner") == outer / "inner"
    assert root(tmp_path / "inner-tree") == outer / "inner"
    assert root(outer) == outer


def test_a_directory_with_a_separate_git_directory_is_its_own_project(tmp_path: Path) -> None:
    """The git directory cannot say whose it is, until `core.worktree` does."""
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-b", "main", "--separate-git-dir", str(tmp_path / "store.git"))
    (work / "file").write_text("x")
    git(work, "add", ".")
    git(work, "commit", "-m", "first")
    git(work, "worktree", "add", str(tmp_path / "one"), "-b", "one")
    git(work, "worktree", "add", str(tmp_path / "two"), "-b", "two")
    assert find_project(str(work)) == (str(work), str(work), "git", "")
    assert root(tmp_path / "one") == root(tmp_path / "two") == tmp_path / "store.git"
    git(work, "config", "core.worktree", str(work))
    assert root(work) == root(tmp_path / "one") == root(tmp_path / "two") == work


@pytest.mark.parametrize("how", ["pointer", "link"])
def test_a_directory_that_points_at_somebodys_bare_repository_does_not_get_its_memory(
    repository: Path, tmp_path: Path, how: str
) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    git(tmp_path, "clone", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", str(tmp_path / "mine"), "-b", "mine")
    with recollect.open(tmp_path / "mine", environment=environment) as memory:
        memory.learn("the deploy key is kept in the vault")
    evil = tmp_path / "evil"
    evil.mkdir()
    if how == "pointer":
        (evil / ".git").write_text(f"gitdir: {tmp_path / 'bare.git'}\n")
    else:
        (evil / ".git").symlink_to(tmp_path / "bare.git")
    with recollect.open(evil, environment=environment) as memory:
        assert not memory.recall("deploy key")
        memory.learn("a fact of a stranger")
    with recollect.open(tmp_path / "mine", environment=environment) as memory:
        assert [item.text for item in memory.list()] == ["the deploy key is kept in the vault"]


def test_outside_git_a_directory_is_its_own_project(tmp_path: Path) -> None:
    (tmp_path / "a-b").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").mkdir()
    roots = {root(tmp_path / name) for name in ("a-b", "a", "a/b")}
    assert len(roots) == 3


def test_directories_below_an_initialised_one_belong_to_it(tmp_path: Path) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    (tmp_path / "top" / "below").mkdir(parents=True)
    with recollect.open(tmp_path / "top", environment=environment) as memory:
        memory.learn("learned before init was run")
    assert root(tmp_path / "top" / "below") == tmp_path / "top" / "below"
    with recollect.open(tmp_path / "top", environment=environment) as memory:
        memory.agents.init()
    assert root(tmp_path / "top" / "below") == tmp_path / "top"


def test_stores_that_a_new_project_takes_the_place_of_are_named(tmp_path: Path) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "nobody")}
    for name in ("top/a", "top/b/c", "top/repository", "top/own", "top"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        with recollect.open(tmp_path / name, environment=environment) as memory:
            memory.learn("a fact")
            assert not [
                check for check in memory.store.doctor().checks if check.name == "stores below"
            ]
            if name == "top/own":
                memory.agents.init()
    git(tmp_path / "top" / "repository", "init")
    lost = [str(tmp_path / name / ".recollect" / "memory.db") for name in ("top/a", "top/b/c")]
    with recollect.open(tmp_path / "top", environment=environment) as memory:
        assert list(memory.agents.init().below) == lost
    with recollect.open(tmp_path / "top" / "a", environment=environment) as memory:
        named = [check for check in memory.store.doctor().checks if check.name == "stores below"]
        assert [check.ok for check in named] == [False, False]
        assert all(path in check.detail for path, check in zip(lost, named, strict=True))


def test_a_symbolic_link_leads_to_the_same_project(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    assert root(tmp_path / "link") == repository


def test_the_memory_of_a_worktree_is_the_memory_of_its_repository(
    repository: Path, tmp_path: Path
) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    git(repository, "worktree", "add", str(tmp_path / "tree"))
    with recollect.open(tmp_path / "tree", environment=environment) as memory:
        memory.learn("the deploy key is kept in the vault")
    with recollect.open(repository, environment=environment) as memory:
        assert memory.recall("deploy key")[0].text.startswith("the deploy key")
    assert (repository / ".recollect" / "memory.db").exists()
    assert not (tmp_path / "tree" / ".recollect").exists()


def test_the_folder_ignores_itself_in_git(repository: Path, tmp_path: Path) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    with recollect.open(repository, environment=environment) as memory:
        memory.learn("a fact")
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


def test_the_environment_names_the_project(repository: Path, tmp_path: Path) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "RECOLLECT_PROJECT": str(repository)}
    with recollect.open(environment=environment) as memory:
        assert memory.project.root == str(repository)


def test_a_project_that_is_named_wins_over_the_environment(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(repository)
    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "RECOLLECT_PROJECT": str(tmp_path)}
    with recollect.open(".", environment=environment) as memory:
        assert memory.project.root == str(repository)
    command = [sys.executable, "-m", "recollect", "--project", ".", "learn", "a fact"]
    environment["RECOLLECT_PROJECT"] = str(tmp_path / "other")
    subprocess.run(command, cwd=repository, env=environment, check=True, capture_output=True)
    assert (repository / ".recollect" / "memory.db").exists()
    assert not (tmp_path / "other" / ".recollect").exists()


def test_a_worktree_that_was_moved_is_refused_until_git_knows_its_place(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", str(tmp_path / "tree"))
    (tmp_path / "tree").rename(tmp_path / "moved")
    assert "does not list this directory" in find_project(str(tmp_path / "moved")).doubt
    git(repository, "worktree", "repair", str(tmp_path / "moved"))
    assert find_project(str(tmp_path / "moved")).doubt == ""


def test_worktrees_with_relative_links_are_known(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", str(tmp_path / "tree"))
    linked = repository / ".git" / "worktrees" / "tree"
    (linked / "gitdir").write_text("../../../../tree/.git\n")
    (tmp_path / "tree" / ".git").write_text("gitdir: ../repository/.git/worktrees/tree\n")
    project = find_project(str(tmp_path / "tree"))
    assert (project.root, project.doubt) == (str(repository), "")


def write_files(place: Path, **files: str) -> None:
    for name, text in files.items():
        path = place / name.replace("__", "/").replace("dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


@pytest.mark.parametrize("trap", ["pointer", "link", "worktree", "commondir", "relayed"])
def test_an_unpacked_archive_cannot_pose_as_another_project(
    repository: Path, tmp_path: Path, trap: str
) -> None:
    """Git keeps `.git` out of repositories; an archive can bring one that points anywhere."""
    evil = tmp_path / "evil"
    evil.mkdir()
    own = f"[core]\n\tworktree = {repository}"
    if trap == "pointer":
        write_files(evil, dot_git=f"gitdir: {repository}/.git")
    if trap == "link":
        (evil / ".git").symlink_to(repository / ".git")
    if trap == "worktree":
        write_files(evil, dot_git="gitdir: e", e__HEAD="ref: refs/heads/main", e__config=own)
    if trap == "commondir":
        write_files(
            evil, dot_git="gitdir: e", e__commondir=f"{repository}/.git", e__gitdir="../.git"
        )
    if trap == "relayed":
        write_files(
            evil, dot_git="gitdir: e/worktrees/w", e__worktrees__w__commondir="../..",
            e__worktrees__w__gitdir="../../../.git", e__config=own,
        )  # fmt: skip
    assert "does not list this directory" in find_project(str(evil)).doubt
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    with pytest.raises(recollect.Refused, match="is not trusted") as caught:
        recollect.open(evil, environment=environment)
    assert "RECOLLECT_TRUST" in caught.value.hint


@pytest.mark.parametrize("mark", [".git", ".recollect"])
def test_what_another_user_put_above_a_directory_does_not_capture_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    if mark == ".git":
        git(shared, "init")
    else:
        with recollect.open(shared, environment=environment) as memory:
            memory.agents.init()
    assert find_project(str(shared / "mine")).root == str(shared)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(recollect.Refused, match=f"{mark} belongs to another user"):
        recollect.open(shared / "mine", environment=environment)
    trusting = {**environment, "RECOLLECT_TRUST": "1"}
    assert recollect.open(shared / "mine", environment=trusting).project.root == str(shared)


@pytest.mark.parametrize("home", ["", "relative/home", "."])
def test_the_users_memory_never_lands_in_the_current_directory(home: str) -> None:
    account = user_directory({})
    assert os.path.isabs(account)
    assert user_directory({"HOME": home, "XDG_DATA_HOME": home, "LOCALAPPDATA": home}) == account
    if home:
        with pytest.raises(recollect.ConfigError, match="absolute"):
            user_directory({"RECOLLECT_HOME": home})


def test_a_project_that_is_not_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(recollect.InvalidInput, match="not a directory"):
        recollect.open(tmp_path / "missing")


def test_a_linked_memory_folder_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (project / ".recollect").symlink_to(tmp_path / "target")
    with pytest.raises(recollect.Refused, match="symbolic link"):
        recollect.open(project, environment={"RECOLLECT_HOME": str(tmp_path / "home")})
    assert not os.listdir(tmp_path / "target")


def test_what_the_user_prefers_is_known_in_every_project(tmp_path: Path) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with recollect.open(tmp_path / "one", environment=environment, origin="user") as memory:
        memory.learn("prefers tabs over spaces", kind="preference", layer="user")
        memory.learn("the build needs make")
    with recollect.open(tmp_path / "two", environment=environment) as memory:
        assert [hit.layer for hit in memory.recall("tabs or spaces")] == ["user"]
        assert not memory.recall("build make")


def test_looking_creates_nothing(project: Path, tmp_path: Path) -> None:
    with recollect.open(project, environment={"RECOLLECT_HOME": str(tmp_path / "home")}) as memory:
        assert not memory.recall("anything")
        assert memory.list() == ()
        assert memory.store.stats().memories == 0
        assert memory.sessions.list() == ()
    assert not (project / ".recollect").exists()
    assert not (tmp_path / "home").exists()


def test_incognito_writes_nothing_and_behaves_the_same(project: Path, tmp_path: Path) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    with recollect.open(project, environment=environment) as memory:
        memory.learn("on disk from before")
    before = sorted(path for path in project.rglob("*"))
    with recollect.open(project, environment=environment, incognito=True) as memory:
        memory.agents.init()
        memory.learn("a secret plan for the weekend")
        memory.record("s", "hello there")
        assert memory.recall("secret plan")[0].text == "a secret plan for the weekend"
        assert not memory.recall("on disk from before")
        assert memory.store.doctor().ok
    assert sorted(path for path in project.rglob("*")) == before
    with recollect.open(
        project, environment={**environment, "RECOLLECT_MODE": "incognito"}
    ) as memory:
        assert not memory.recall("secret plan")


@given(st.lists(st.text(st.sampled_from("ab/%:\\2F5C"), max_size=300), min_size=2, unique=True))
def test_no_two_projects_have_the_same_place_in_the_users_directory(roots: list[str]) -> None:
    places = {private_folder("/home/u", root) for root in roots}
    assert len(places) == len(roots)
    assert all(os.path.dirname(place) == "/home/u/projects" for place in places)
    assert all(len(os.path.basename(place)) <= 255 for place in places)


def test_every_directory_on_the_way_to_the_users_memory_is_private(
    project: Path, tmp_path: Path
) -> None:
    home = tmp_path / "a" / "b" / "home"
    environment = {"RECOLLECT_HOME": str(home)}
    with recollect.open(project, environment=environment, origin="user") as memory:
        memory.learn("a fact", layer="user")
    for place in (home, home.parent, home.parent.parent):
        assert place.stat().st_mode & 0o777 == 0o700


def test_a_pipe_where_git_keeps_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """An archive that somebody unpacks can hold anything below `.git`."""
    root = tmp_path / "unpacked"
    linked = root / ".git" / "worktrees" / "one"
    linked.mkdir(parents=True)
    for place in (root / ".git" / "HEAD", root / ".git" / "config", linked / "gitdir"):
        os.mkfifo(place)
    assert find_project(str(root)).root == str(root)
    assert current_branch(str(root)) == ""
    with recollect.open(root, environment={"RECOLLECT_HOME": str(tmp_path / "h")}) as memory:
        assert memory.import_transcripts().messages == 0


def test_a_store_in_a_folder_made_by_hand_is_ignored_by_git(project: Path) -> None:
    with recollect.open(project) as memory:
        memory.learn("the gearbox needs oil")
        path = Path(memory.project.database)
    (path.parent / ".gitignore").unlink()
    with recollect.open(project) as memory:
        assert len(memory.list()) == 1
    assert (path.parent / ".gitignore").read_text() == "*\n"
