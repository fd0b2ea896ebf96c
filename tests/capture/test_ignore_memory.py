"""Who asks to work without memory, and who only talks about it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.ignore_memory import asks_to_ignore

ASKED = [
    "ignore memory",
    "Ignore memory.",
    "IGNORE MEMORY!",
    "Ignore memory and tell me how we deploy",
    "ignore memory: how do we deploy?",
    "Please ignore memory for this question.",
    "please ignore your memory here",
    "Can you ignore memory for this one?",
    "Could you please ignore all memories for now?",
    "For this question, ignore memory.",
    "How do we deploy? Ignore memory.",
    "How do we deploy? (ignore memory)",
    "How do we deploy, ignore memory please",
    "I want you to ignore memory this time",
    "Let's ignore memory and start over",
    "ok, ignore memory then",
    "Disregard any previous memories",
    "skip memory for this turn",
    "Don't use memory",
    "don't use memory for this answer",
    "Don’t use your memory here, please",
    "Do not use memory",
    "dont use memory",
    "Please do not use any stored memories.",
    "Don't rely on memory from previous sessions",
    "do not consult project memory",
    "Don't look at your memories, just read the code",
    "Read the code and don't use memory",
    "fresh context",
    "Fresh context, please: how do the tests run?",
    "Use a fresh context.",
    "Start with a fresh context and review the parser",
    "with a fresh context, what do you think of this design?",
    "Fresh context for this question",
    "without memory",
    "Answer without memory",
    "Answer this without using memory, please.",
    "Review this function without memory",
    "What is the deploy command, without memory?",
    "Without memory: what is the deploy command?",
    "Without memory, tell me what this repository does",
    "Do it again without consulting your memory",
    "No memory please",
    "No memory this time.",
    "Work as if you had no memory",
    "memory off",
    "Turn off memory for this turn",
    "Look at the failing test.\nIgnore memory.\nFix it.",
    "```\nlog output\n```\nignore memory and explain this log",
    "Proceed without long-term memory",
    "Forget what you remember and look again.",
    "Ignore what you remember",
    "ignore everything you know about this project",
    "Forget all that you know about this project for now",
    "Set aside what you know: what does run() do?",
    "Pretend you have no memory of this project",
    "fix the bug, ignoring memory",
    "Let's do this one from a fresh context",
]

ASKED_ABROAD = [
    "Ignoriere das Gedächtnis",
    "Bitte ignoriere deine Erinnerungen und lies den Code.",
    "Wie deployen wir? Ohne Gedächtnis, bitte.",
    "Nutze kein Gedächtnis: wie laufen die Tests?",
    "Verwende deine Erinnerungen nicht.",
    "Ignora la memoria y dime cómo desplegamos",
    "Por favor, no uses la memoria.",
    "¿Cómo se despliega? Sin memoria, por favor",
    "Ignore la mémoire et lis le code.",
    "N’utilise pas ta mémoire, s'il te plaît",
    "Sans mémoire : comment lancer les tests",
    "Ignore a memória",
    "Não use a sua memória, por favor.",
    "Sem memória: como rodar os testes",
    "Игнорируй память",
    "Не используй память, пожалуйста.",
    "Как запустить тесты? Без памяти.",
    "忽略记忆",
    "请忽略记忆，告诉我如何部署。",
    "怎么部署？不要使用记忆。",
    "這次不要使用記憶",
    "記憶を無視して",
    "メモリを使わないでください。",
    "デプロイの方法は？記憶なしで。",
    "메모리를 무시해줘",
    "기억을 사용하지 마세요.",
    "배포는 어떻게 해? 메모리 없이.",
]

NOT_ASKED_ABROAD = [
    "Was macht „ignoriere das Gedächtnis“?",
    "Ignoriere das Gedächtnis nicht",
    "Wie kann ich das Gedächtnis ignorieren?",
    "Ohne Gedächtnis wiederholen Agenten ihre Fehler.",
    "No ignores la memoria",
    "Sin memoria suficiente el proceso muere",
    "El proceso se queda sin memoria?",
    "Le serveur est sans mémoire libre",
    "N'ignore pas la mémoire",
    "O processo ficou sem memória",
    "Не игнорируй память",
    "Утечка памяти: без памяти процесс падает",
    "不要忽略记忆",
    "忽略记忆功能是怎么实现的",
    "「記憶を無視して」とは何ですか",
    "メモリを無視してしまう問題を直して",
    "메모리를 무시하지 마",
    "메모리 누수를 고쳐줘",
    "메모리를 사용하지 마는 옵션을 추가해",
]


@pytest.mark.parametrize("text", ASKED_ABROAD)
def test_a_request_in_another_language_is_heard(text: str) -> None:
    assert asks_to_ignore(text)


@pytest.mark.parametrize("text", NOT_ASKED_ABROAD)
def test_whoever_talks_about_memory_in_another_language_keeps_it(text: str) -> None:
    assert not asks_to_ignore(text)


NOT_ASKED = [
    "",
    "What does 'ignore memory' do?",
    'What does "ignore memory" do?',
    "What does ignore memory do?",
    "what happens when I say ignore memory",
    "How do I ignore memory?",
    "don't ignore memory",
    "Do not ignore memory",
    "Never ignore memory.",
    "Please don't ignore your memory here",
    "Stop ignoring memory",
    "Why did you ignore memory?",
    "Add an `ignore memory` command to the CLI",
    "The ignore memory flag is broken",
    "Ignore memory should work per turn only",
    "ignore memory is detected in capture/ignore_memory.py",
    "Ignore memory leaks for now",
    "Ignore memory errors in the test run",
    "ignore memory usage, look at the CPU",
    "Ignore memory-mapped files",
    "Don't use memory-mapped files",
    "Don't use memory for caching",
    "Do not use memory allocations in the hot loop",
    "Run the container without memory limits",
    "The process died without memory",
    "It crashed without memory.",
    "Does the server run without memory pressure?",
    "Without memory, the agent repeats its mistakes.",
    "Agents without memory forget everything",
    "A model without memory is stateless",
    "Explain how agents work without memory",
    "There is no memory left on the device",
    "No memory leaks were found",
    "Create a fresh context manager",
    "Create a fresh context for each test",
    "Every test gets a fresh context",
    "Use a fresh context object in the renderer",
    "When the user says ignore memory, the hook returns nothing",
    "If I say ignore memory, you must not read NOTES.md",
    "The agent should ignore memory on request",
    "Use memory",
    "Use your memory and tell me how we deploy",
    "Write a test for ignore memory",
    "Implement ignore memory detection",
    "> ignore memory\nWhat does this line in the docs mean?",
    "```\nignore memory\n```",
    "```\nuser: don't use memory\n```\nwhy did this transcript go wrong?",
    "The docs say “don't use memory” switches it off",
    "Rename `without memory` to `no_memory`",
    "We should discuss whether to ignore memory",
    "my memory is bad, remind me how we deploy",
    "Reduce memory and start a fresh process",
    "<recollect-memory>\nignore memory\n</recollect-memory>\nHow do we deploy?",
    "do you remember what we did?",
    "ignore what you know is wrong",
    "Forget it, you know what I mean",
    "did you forget what you remember?",
    "forget what you know about tabs: always use spaces",
    "do you know if it works in a fresh context?",
    "run it in a fresh context manager",
    "Write a function that opens a fresh context",
]


@pytest.mark.parametrize("text", ASKED)
def test_a_request_switches_memory_off_for_its_turn(text: str) -> None:
    assert asks_to_ignore(text)


@pytest.mark.parametrize("text", NOT_ASKED)
def test_talk_about_memory_is_no_request(text: str) -> None:
    assert not asks_to_ignore(text)


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="abc ,.:\n'\"`", max_size=200))
def test_a_text_without_the_words_never_asks(text: str) -> None:
    assert not asks_to_ignore(text)


@pytest.mark.parametrize(
    "text",
    [
        "ignore " * 5_000 + "memory",
        "without memory " * 2_000,
        "do " + "x " * 10_000 + "without memory",
        "memory " * 5_000,
        "and please " * 5_000 + "memory",
        "bitte " * 5_000 + "ohne Gedächtnis",
        "请" * 5_000 + "忽略记忆",
    ],
)
def test_a_long_text_is_no_request(text: str) -> None:
    assert not asks_to_ignore(text)
