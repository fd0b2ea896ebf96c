"""Recognise commands that only the user may suggest: they change more than the working tree.

Fetching and running code, credentials, permissions, and anything that leaves the machine. A line of
an agent or of our own rules that names one is not shown by itself, whatever it is based on.
"""

from __future__ import annotations

import re
from functools import cache


def is_dangerous(text: str) -> bool:
    """Check whether a text names a command that fetches code, touches credentials or permissions,
    pushes or deploys."""
    return _dangerous().search(text) is not None


@cache
def _dangerous() -> re.Pattern[str]:
    return re.compile(
        r"""\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b
        |\b(?:ba|z)?sh\s+-c\s+["']?\$\((?:curl|wget)|\beval\b[^\n]*\b(?:curl|wget)\b
        |\bsudo\b|\bch(?:mod|own)\s+(?:-\w+\s+)*(?:[0-7]{3,4}|\+?[a-z]*s|\w+:)
        |\bgit\s+push\b|--force\b|--no-verify\b|--dangerously
        |\b(?:npm|pnpm|yarn|cargo|twine|poetry|gem)\s+(?:publish|upload)\b
        |\b(?:kubectl|helm)\s+(?:apply|delete|upgrade|install)\b|\bterraform\s+(?:apply|destroy)\b
        |\b(?:vercel|netlify|fly|flyctl|heroku|wrangler|gcloud|aws|az|ansible-playbook)\s+\w
        |\bdeploy\b|\b(?:gh|glab)\s+(?:pr\s+merge|release|secret)\b
        |\bssh(?:-\w+)?\s|\bscp\s|\brsync\s|\bid_(?:rsa|ed25519)\b|\.env\b
        |\b(?:password|passwd|secret|credential|api[_ -]?key|access[_ -]?token)s?\b
        |\b(?:login|logout|authenticate)\b|\brm\s+-\w*[rf]""",
        re.IGNORECASE | re.VERBOSE,
    )
