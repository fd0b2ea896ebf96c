"""What counts as the definition of a name, in Python, in other languages, in configuration."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.freshness.definitions import find_definition, is_mentioned

PYTHON = '''
import re
LIMIT = 20
level: int = 3

class Client(Base, Other):
    """Sends."""
    timeout = 5

    @property
    def open(self) -> bool:
        return True

    async def send(self, request, *, stream=False):
        """Send it."""
        # a comment
        return await self._send(request)

if TYPE_CHECKING:
    Alias = Client
try:
    import fast
except ImportError:
    def fast(): ...

def helper(a, b=1):
    def inner(): ...
    return a
'''

TYPESCRIPT = """
import type Shape from "./shape";
export default class Server<T> extends Base {
  private port = 1;
  constructor(readonly host: string) {}
  async start(
    options: Options,
  ): Promise<void> {
    listen(options);
  }
}
export const handler = async (req: Request) => {
  return 1;
};
interface Options { port: number }
type Name = string;
function* walk(tree: Tree) {
  yield tree;
}
describe("walk", () => {
  expect(walk(tree)).toBe(1);
});
"""

GO = """
package main

type Server struct {
	port int
}

func (s *Server) Start(port int) error {
	return run(port)
}

func New() *Server { return nil }

const Limit = 3
"""

RUST = """
pub struct Store<'a> { name: &'a str }

impl<'a> Store<'a>
where
    'a: 'static,
{
    pub fn open(path: &Path) -> Self {
        helper(path)
    }
}

impl Display for Other {
    fn fmt(&self) -> Result { Ok(()) }
}

macro_rules! twice { () => {} }
"""

C = """
#define LIMIT 3
static int
unused(void);
int main(int argc, char **argv)
{
    return helper(argc);
}
void Shape::draw(int x) {
}
"""


@pytest.mark.parametrize(
    ("file", "text", "defined", "absent"),
    [
        (
            "a.py",
            PYTHON,
            "LIMIT level Client Client.timeout Client.open Client.send Alias fast helper helper()",
            "re send inner request TYPE_CHECKING Client.close Sends helper.inner _send",
        ),
        (
            "a.ts",
            TYPESCRIPT,
            "Server Server.start Server.constructor Server.port handler Options Name walk",
            "Shape listen describe expect Server.stop yield",
        ),
        ("a.go", GO, "Server Server.Start Server::Start New Limit", "run Server.Stop port2 main.run"),
        ("a.rs", RUST, "Store Store.open Store::open Other.fmt twice", "helper Store.close Ok"),
        ("a.c", C, "LIMIT main Shape.draw Shape::draw", "helper argc2 Shape.move"),
        ("Makefile", "CC = gcc\ntest: build\n\tpytest\n", "test CC", "build pytest"),
        ("justfile", "@ship target='all':\n    cp a b\n", "ship", "cp target"),
        ("a.yml", "jobs:\n  build:\n    steps:\n      - run: x\n", "jobs jobs.build jobs.build.steps", "jobs.test steps.build"),
        ("a.ini", "[tool]\nname = x\n", "tool name", "x"),
        ("package.json", '{"scripts": {"test": "jest", "build:all": "x"}}', "scripts.test scripts.build:all scripts", "scripts.lint test"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", "tool.ruff.line-length", "tool.black ruff"),
    ],
)  # fmt: skip
def test_a_file_defines_its_names_and_no_others(
    file: str, text: str, defined: str, absent: str
) -> None:
    assert [name for name in defined.split() if not find_definition(text, file, name)] == []
    assert [name for name in absent.split() if find_definition(text, file, name)] == []


@pytest.mark.parametrize(
    ("file", "name", "old", "new"),
    [
        ("a.py", "f", "def f(a): return 1", "def f( a ):\n    # why\n    return 1"),
        ("a.py", "f", "def f(a): return 1", 'def f(a):\n    """Says."""\n    return 1'),
        ("a.ts", "f", "function f(a) {\n  return 1;\n}", "x();\nfunction f(a) {\n    return  1;\n}\ny();"),
        ("a.json", "a.b", '{"a": {"b": [1, 2]}}', '{"c": 1, "a": {"b": [1,\n2]}}'),
    ],
)  # fmt: skip
def test_layout_and_surroundings_do_not_count(file: str, name: str, old: str, new: str) -> None:
    assert find_definition(old, file, name) == find_definition(new, file, name) is not None


def test_the_head_of_a_function_is_its_signature_and_the_whole_its_body() -> None:
    first = find_definition("def f(a, b=1):\n    return a", "a.py", "f")
    body = find_definition("def f(a, b=1):\n    return b", "a.py", "f")
    signature = find_definition("def f(a, b=2):\n    return a", "a.py", "f")
    waits = find_definition("async def f(a, b=1):\n    return a", "a.py", "f")
    assert first and body and signature and waits
    assert first.head == body.head and first.whole != body.whole
    assert first.head != signature.head and first.whole == signature.whole
    assert first.head != waits.head


def test_the_head_of_a_class_is_its_bases_and_of_a_constant_its_value() -> None:
    assert find_definition("class A(B, C): x = 1", "a.py", "A") == ("class (B, C)", "x = 1")
    assert find_definition("LIMIT = 10 * 2", "a.py", "LIMIT") == ("10 * 2", "10 * 2")


def test_a_signature_over_several_lines_is_all_head() -> None:
    found = find_definition(TYPESCRIPT, "a.ts", "Server.start")
    assert found and found.head == "async start( options: Options, ): Promise<void> {"
    assert found.whole.endswith("listen(options); }")


def test_a_file_that_does_not_parse_is_read_by_its_lines() -> None:
    assert find_definition("def f(a):\n    return (\n", "a.py", "f")
    assert find_definition('{\n  // comment\n  "name": 1\n}', "a.json", "name")


def test_a_mention_is_a_whole_word() -> None:
    assert is_mentioned("use the Retry-After header", "Retry")
    assert not is_mentioned("retries", "retry")
    assert is_mentioned("calls send()", "Client.send()")


@settings(deadline=None, max_examples=200)
@given(
    st.text(max_size=300),
    st.sampled_from(["a.py", "a.ts", "a.json", "a.toml", "Makefile", "a.yml"]),
    st.text(max_size=20),
)
def test_any_text_can_be_asked_for_any_name(text: str, file: str, name: str) -> None:
    found = find_definition(text, file, name)
    assert found is None or isinstance(found.head, str)


@pytest.mark.parametrize(
    "line", ["a " * 400, "<" * 900, "impl " * 180, "foo(" * 200, "w:" * 400, "( " * 400, "x" * 900]
)
def test_generated_lines_take_no_time(line: str) -> None:
    text = f"{line} foo {line}\n" * 200
    assert find_definition(text, "a.ts", "foo") is None or "foo" in text
