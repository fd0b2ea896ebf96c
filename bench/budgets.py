"""`python -m bench.budgets FOLDER`: no start block costs more real tokens than its budget.

Needs `tiktoken` and `tokenizers`, which the package does not: install them beside it. FOLDER holds
the vocabularies of o200k and cl100k under the names that tiktoken caches them by, and Claude's
as `tokenizer.json`; they come inside the wheels of litellm and of anthropic 0.34.2. A thousand
stores in eight scripts, emoji and code are made, each is briefed, and the dearest of the three
counts is compared with the budget.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from random import Random

from recollect.briefing.rendering import start_block
from recollect.briefing.selection import Candidate, StartMaterial, plan_start
from recollect.types.records import FOREVER, KINDS, Memory

STORES = 1_000
BUDGETS = (100, 150, 400, 800)
LEAST_FILLED = 0.85
TEXTS = {
    "English": (
        "Never push to main without a review of somebody who knows the module",
        "We use one comparison with the whole expected text in place of many small assertions",
        "The worker must be restarted after the configuration of the queue was changed",
        "All amounts are kept as integers in cents, and rounding happens in one place only",
        "Ask before you install a package, and prefer what the standard library offers",
    ),
    "code": (
        "`pnpm --filter @app/api test -- --runInBand` needs REDIS_URL=redis://localhost:6380/1",
        "def read_all(self, path: str, *, limit: int = 1_000) -> list[dict[str, Any]]: ...",
        "src/http/middleware/rateLimit.ts:42 throws ERR_TOO_MANY_REQUESTS (0x1F4A9)",
        "kubectl -n staging get pods -o jsonpath='{.items[*].metadata.name}' | xargs -n1 echo",
    ),
    "Cyrillic": (
        "Никогда не отправляйте изменения в главную ветку без проверки",
        "Сообщения об ошибках пишутся с маленькой буквы и без точки в конце",
        "Перед выпуском нужно перезапустить очередь и проверить журнал сервера",
    ),
    "Greek": (
        "Μην ανεβάζετε ποτέ αλλαγές στον κύριο κλάδο χωρίς έλεγχο",
        "Τα μηνύματα σφάλματος γράφονται με μικρά γράμματα και χωρίς τελεία",
    ),
    "Arabic": (
        "لا ترفع أي تغييرات إلى الفرع الرئيسي من دون مراجعة",
        "تُكتب رسائل الخطأ بأحرف صغيرة ومن دون نقطة في النهاية",
    ),
    "Devanagari": (
        "समीक्षा के बिना मुख्य शाखा में कभी बदलाव न भेजें",
        "त्रुटि संदेश छोटे अक्षरों में और बिना पूर्ण विराम के लिखे जाते हैं",
    ),
    "Chinese": (
        "未经审查不得推送到主分支，所有金额都以分为单位保存为整数",
        "请始终使用中文注释，并在提交之前运行全部测试",
    ),
    "Japanese": (
        "レビューなしで本番ブランチに変更を送らないでください",
        "エラーメッセージは小文字で始め、最後に句点を付けません",
    ),
    "Korean": (
        "검토 없이 메인 브랜치에 변경 사항을 올리지 마세요",
        "오류 메시지는 소문자로 시작하고 마침표를 붙이지 않습니다",
    ),
    "Thai": (
        "ห้ามส่งการเปลี่ยนแปลงไปยังสาขาหลักโดยไม่มีการตรวจสอบ",
        "ข้อความแสดงข้อผิดพลาดต้องขึ้นต้นด้วยตัวพิมพ์เล็กและไม่มีจุดต่อท้าย",
    ),
    "emoji": (
        "ship it 🚀🎉 after the 🧪 are ✅, never on 📆 Friday 🔥👩‍💻",
        "👍🏽 for small commits 🇩🇪",
    ),
}


def counters(folder: str) -> dict[str, Callable[[str], int]]:
    """Return the real tokenizers by name."""
    os.environ["TIKTOKEN_CACHE_DIR"] = folder
    import tiktoken  # type: ignore[import-not-found, unused-ignore]
    from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]

    claude = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    found: dict[str, Callable[[str], int]] = {
        "Claude": lambda text: len(claude.encode(text).ids),
    }
    for name in ("o200k_base", "cl100k_base"):
        encoding = tiktoken.get_encoding(name)
        found[name] = lambda text, encoding=encoding: len(  # type: ignore[misc]
            encoding.encode(text, disallowed_special=())
        )
    return found


def store(random: Random, script: str) -> list[Candidate]:
    """Return rules and lessons made of the words of one script, and of some code beside."""
    beside = () if script == "English" else TEXTS["code"][:1]
    words = [word for text in (*TEXTS[script], *beside) for word in text.split()]
    found = []
    for number in range(random.randrange(1, 80)):
        text = random.choice(TEXTS[script])
        if random.random() < 0.7:
            text = " ".join(random.choices(words, k=random.randrange(3, 25)))
        kind = random.choice(("policy", "preference", "decision", "fact", "pitfall"))
        label = random.choice(("user", "user", "system", "agent"))
        values: dict[str, object] = dict.fromkeys(Memory._fields, ())
        values |= dict.fromkeys(("subject", "reason", "owner", "digest"), "")
        id = "m-" + "".join(random.choices("0123456789abcdefghjkmnpqrstvwxyz", k=12))
        values |= {"id": id, "root": id, "revision": 1, "kind": kind, "detail": {}}
        values |= {"category": "project", "priority": "high", "layer": "project", "label": label}
        values |= {"status": "active", "origin": label, "reinforcement": 1, "confidence": 0.9}
        values |= dict.fromkeys(("failures", "recalls", "last_recalled"), 0)
        values |= dict.fromkeys(("first_seen", "last_confirmed", "last_reinforced"), number + 1)
        values |= {"successes": 1, "valid_from": 1_790_000_000_000_000, "valid_to": FOREVER}
        memory = Memory(**{**values, "text": f"{text} {number}"})  # type: ignore[arg-type]
        found.append(Candidate(memory, KINDS[kind].weight))
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    real = counters(sys.argv[1])
    over, filled = 0, []
    for seed in range(STORES):
        random = Random(seed)
        script = list(TEXTS)[seed % len(TEXTS)]
        budget = random.choice(BUDGETS)
        plan = plan_start(StartMaterial(tuple(store(random, script))), budget)
        text = start_block(plan)
        if not text:
            continue
        costs = {name: count(text) for name, count in real.items()}
        name, most = max(costs.items(), key=lambda one: one[1])
        if most > budget:
            over += 1
            print(f"store {seed} ({script}): {most} tokens by {name}, budget {budget}")
        if script == "English" and budget >= 400 and any(one.wanted for one in plan.left_out):
            filled.append(most / budget)
    least = min(filled, default=0.0)
    mean = sum(filled) / max(len(filled), 1)
    print(f"{STORES} stores in {len(TEXTS)} kinds of text: {over} above their budget")
    print(
        f"English fills {mean:.0%} of the budget before something is left out, {least:.0%} at least"
    )
    return int(over > 0 or mean < LEAST_FILLED)


if __name__ == "__main__":
    sys.exit(main())
