"""Clusters: tasks of one sort come together, strangers never do, however many there are."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.index.clusters import (
    MOST_KEYS,
    NEIGHBOURS,
    TextFeatures,
    WordMeanings,
    compare_features,
    extract_features,
    find_clusters,
    make_similarity,
    words_by_stem,
)
from tests.builders.records import ENDPOINTS

law = settings(deadline=None, max_examples=150)

FORMS = [
    "Implement login form validation",
    "Add validation to signup form",
    "Validate the profile form",
    "Form validation for checkout",
    "Add client-side validation to the contact form",
]
STRANGERS = [
    "implement user login",
    "create billing export",
    "Fix the dark mode toggle",
    "Upgrade the database driver",
    "write release notes",
]


def groups(goals: list[str], files: dict[int, list[str]] | None = None) -> list[set[str]]:
    features = [extract_features(goal, (files or {}).get(at, ())) for at, goal in enumerate(goals)]
    return [{goals[at] for at in cluster.members} for cluster in find_clusters(features)]


def test_variations_of_one_task_come_together_and_strangers_stay_out() -> None:
    found = groups([*ENDPOINTS, *STRANGERS, *FORMS])
    assert found == [set(ENDPOINTS), set(FORMS)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("implement user login", "create billing export"),
        ("implement user login", "implement user export"),
        ("fix the parser", "fix the theme"),
        ("add a test for the parser", "add a page for the theme"),
        ("update the settings of the editor", "update the settings of the mailer"),
    ],
)
def test_a_shared_keyword_joins_nothing(one: str, other: str) -> None:
    assert groups([one, other]) == []


def test_one_shared_word_is_enough_where_the_work_was_in_the_same_place() -> None:
    goals = ["make the parser faster", "let the parser read comments"]
    assert groups(goals) == []
    assert groups(goals, {0: ["src/parser.py"], 1: ["src/parser.py"]}) == [set(goals)]


def test_files_elsewhere_keep_tasks_with_similar_words_apart() -> None:
    goals = ["add paging to the list of orders", "add sorting to the list of invoices"]
    assert compare_features(extract_features(goals[0]), extract_features(goals[1])) < 0.5


def test_a_given_likeness_decides_among_those_that_share_anything() -> None:
    features = [TextFeatures(frozenset({"x", str(at)})) for at in range(4)]
    [cluster] = find_clusters(
        features, lambda one, other: 1.0 if {one, other} <= {1, 2, 3} else 0.0
    )
    assert cluster.members == (1, 2, 3)


def towards(*directions: int) -> bytes:
    """A vector that points into these directions, out of 16."""
    return bytes(128 + 100 * (at in directions) for at in range(16))


def test_vectors_join_what_has_no_word_in_common() -> None:
    goals = ("delete stale branches", "prune old refs", "dark theme")
    known = {"stale": (0, 1), "branches": (2,), "prune": (0,), "old": (1,), "refs": (2,)}
    known |= {"dark": (7,), "theme": (8,)}
    vectors = {stem: towards(*known[word]) for stem, word in words_by_stem(goals).items()}
    features = [extract_features(goal) for goal in goals]
    assert find_clusters(features) == []
    [cluster] = find_clusters(features, meaning=WordMeanings(vectors))
    assert cluster.members == (0, 1)


def test_a_shared_keyword_joins_nothing_however_near_the_whole_is() -> None:
    """The whole vectors have a cosine of 0.5 by the shared word alone."""
    goals = ("create user export", "create billing export")
    vectors = dict(zip(("user", "bill", "export"), map(towards, (0, 1, 2)), strict=True))
    assert set(vectors) == set(words_by_stem(goals))
    features = [extract_features(goal) for goal in goals]
    assert find_clusters(features, meaning=WordMeanings(vectors)) == []
    vectors["bill"] = vectors["user"]
    assert len(find_clusters(features, meaning=WordMeanings(vectors))) == 1


def test_files_elsewhere_weigh_against_a_likeness_that_only_vectors_see() -> None:
    vectors = {"sign": towards(0, 1, 2, 3), "login": towards(2, 3, 4, 5)}
    apart = [TextFeatures(frozenset({"sign"}), frozenset({"web/a.ts"}))]
    apart += [TextFeatures(frozenset({"login"}), frozenset({"src/b.py"}))]
    assert find_clusters(apart, meaning=WordMeanings(vectors)) == []
    bare = [one._replace(files=frozenset()) for one in apart]
    assert len(find_clusters(bare, meaning=WordMeanings(vectors))) == 1


def test_a_number_has_no_meaning() -> None:
    assert words_by_stem(["8", "add 9 widgets"]) == {"widget": "widgets"}


def test_what_many_words_mean_together_is_not_asked() -> None:
    many = [TextFeatures(frozenset(f"{side}{at}" for at in range(9))) for side in "ab"]
    vectors = {word: towards(1) for one in many for word in one.words}
    assert find_clusters(many, meaning=WordMeanings(vectors)) == []
    few = [TextFeatures(frozenset(sorted(one.words)[:8])) for one in many]
    assert len(find_clusters(few, meaning=WordMeanings(vectors))) == 1


def test_a_common_parent_folder_is_not_the_same_place() -> None:
    goals = ["make the parser faster", "let the parser read comments"]
    assert groups(goals, {0: ["src/one/fast.py"], 1: ["src/two/read.py"]}) == []


words = st.sampled_from(["login", "form", "page", "export", "invoice", "parser", "theme", "token"])
things = st.lists(
    st.builds(
        TextFeatures,
        st.frozensets(words, max_size=5),
        st.frozensets(st.sampled_from(["src/a.py", "src/b.py", "docs/c.md"]), max_size=2),
    ),
    max_size=30,
)


@law
@given(things)
def test_every_member_is_like_the_centre_and_in_one_cluster_only(
    features: list[TextFeatures],
) -> None:
    like = make_similarity(features)
    found = find_clusters(features)
    members = [at for cluster in found for at in cluster.members]
    assert len(members) == len(set(members))
    for cluster in found:
        assert len(cluster.members) >= 2
        assert cluster.centre in cluster.members
        assert all(
            like(cluster.centre, at) >= 0.5 for at in cluster.members if at != cluster.centre
        )
        assert 0.5 <= cluster.cohesion <= 1.0


@law
@given(things)
def test_likeness_is_symmetric_and_between_nothing_and_one(features: list[TextFeatures]) -> None:
    like = make_similarity(features)
    for one in range(len(features)):
        for other in range(len(features)):
            assert like(one, other) == like(other, one)
            assert 0.0 <= like(one, other) <= 1.0 + 1e-9


@law
@given(things)
def test_the_same_things_give_the_same_clusters(features: list[TextFeatures]) -> None:
    assert find_clusters(features) == find_clusters(list(features))


def test_identical_things_are_one_cluster_however_many() -> None:
    [cluster] = find_clusters([TextFeatures(frozenset("abc"))] * 1_000)
    assert len(cluster.members) == 1_000


def test_the_number_of_comparisons_grows_with_the_number_of_things_only() -> None:
    """Ten times as many things are compared at most ten times as often, and a little."""

    def comparisons(count: int) -> int:
        chance = random.Random(7)
        rare = [f"w{number}" for number in range(count)]
        features = [
            TextFeatures(
                frozenset([*chance.sample(rare, 5), chance.choice(("api", "page", "common"))])
            )
            for _ in range(count)
        ]
        asked = 0

        def like(one: int, other: int) -> float:
            nonlocal asked
            asked += 1
            return 0.0

        assert find_clusters(features, like) == []
        return asked

    small, large = comparisons(300), comparisons(3_000)
    assert large <= MOST_KEYS * NEIGHBOURS * 3_000
    assert large <= 12 * small
