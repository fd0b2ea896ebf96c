"""Operations on sessions: record messages, look at them."""

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from .. import flows
from ..db.database import Tx
from ..errors import NotFound
from ..places import branch_of
from ..types import Json, Message, Recorded, Session
from .opened import Opened


class SessionAbout(TypedDict, total=False):
    """What is known of the session when its first message arrives.

    name: a name for people
    agent: which agent speaks, such as claude-code
    origin: on which path the message came: user, agent, tool or import; its role says it otherwise
    key: makes the call idempotent: the same key in the session again changes nothing
    """

    name: str
    agent: str
    origin: str
    key: str


class Sessions(Opened):
    """Record, list and show."""

    def record(
        self,
        session: str,
        message: Message | Mapping[str, Json] | str,
        role: str = "user",
        **about: Unpack[SessionAbout],
    ) -> Recorded:
        """Append a message to a session's archive; the session is made with its first message.

        session: the session's id; any name without spaces or slashes
        message: text, or a message as a JSON object in OpenAI's or Anthropic's form; - reads stdin
        role: who speaks, when the message is text: user, assistant, tool, system or developer

        Example: recollect record s-1 "Why does the build fail?"
        Example: recollect record s-1 '{"role": "assistant", "content": "A missing header."}'
        """
        new = flows.record.new_session(
            session,
            name=about.get("name", ""),
            agent=about.get("agent", ""),
            cwd=self.project.start,
            branch=branch_of(self.project.start),
            origin=self.origin,
        )
        now = self._clock()
        incoming = flows.record.incoming(
            message, role, about.get("origin", ""), about.get("key", "")
        )
        ready = [flows.record.prepare(item, now) for item in incoming]
        sent = self._answered(session, ready)

        def work(tx: Tx) -> list[Recorded]:
            done = flows.record.record(tx, new, ready, now)
            if sent and any(item.new for item in done):
                flows.window.learn_ratio(tx, sent, ready, now)
            return done

        return flows.record.together(self._project_space.write(work))

    def _answered(
        self, session: str, ready: "Sequence[flows.record.Prepared]"
    ) -> "flows.window.Sent | None":
        """The prompt that these messages answer, if they say what it cost; it is told once."""
        sent = self._sent.get(session)
        if sent is None or not sent.chars or not flows.window.has_usage(ready):
            return None
        self._sent[session] = sent._replace(chars=0)
        return sent

    def sessions(self, limit: int = 50, status: str = "") -> tuple[Session, ...]:
        """The sessions of this project, the most recently active first.

        limit: at most so many
        status: only active, idle or ended ones

        Example: recollect session list
        """
        found = self._project_space.read(lambda tx: flows.look.latest(tx, limit, status))
        return tuple(found)

    def session(self, session: str, first: int = 0, last: int = 0) -> "flows.look.Shown":
        """One session with its messages; the newest 50 when no range is given.

        session: its id, or the beginning of it
        first: the first message of the range
        last: the last message of the range

        Example: recollect session show s-1 --first 10 --last 20
        """
        shown = self._project_space.read(
            lambda tx: flows.look.session_page(tx, session, first, last)
        )
        if shown is None:
            raise NotFound(
                "there is no such session",
                where=session,
                hint="`recollect session list` shows what there is",
            )
        return shown
