"""Our session with the constructor of the SDK's SQLite session, for that session's own tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from recollect.frameworks.openai_session import MemorySession
from tests.peers.opening import open_memory


class SQLiteSession(MemorySession):
    """`db_path` names the database; sessions with the same one share it."""

    def __init__(
        self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None
    ) -> None:
        folder = Path(os.environ["HOME"], f"{Path(db_path).name}.project")
        folder.mkdir(exist_ok=True)
        self.memory = open_memory(None if str(db_path) == ":memory:" else folder)
        super().__init__(session_id, self.memory, session_settings)

    def close(self) -> None:
        self.memory.close()


def get_text_message(content: str) -> ResponseOutputMessage:
    """An answer of a model."""
    text = ResponseOutputText(text=content, type="output_text", annotations=[], logprobs=[])
    return ResponseOutputMessage(
        id="1", type="message", role="assistant", content=[text], status="completed"
    )
