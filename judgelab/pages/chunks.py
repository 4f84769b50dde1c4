"""A page cut into chunks of a few sentences that overlap.

Invariant: every sentence of the text is in some chunk, whatever its script; a text that knows no sentences is cut by
length, so no chunk is longer than `LONGEST`.
"""

from __future__ import annotations

from judgelab.text import split_sentences

LONGEST = 4_000  # characters of a chunk: about a thousand tokens
_SENTENCE = 1_000  # characters of one sentence, cut where it is longer


def chunks(text: str, sentences: int, overlap: int) -> list[str]:
    """Chunks of `sentences` sentences each, the last `overlap` of which begin the next one; joined by a space."""
    parts = [piece for each in split_sentences(text) for piece in _cut(each)]
    step = sentences - overlap
    starts = range(0, max(1, len(parts) - overlap), step)
    return [chunk[:LONGEST] for start in starts if (chunk := " ".join(parts[start : start + sentences]))]


def _cut(sentence: str) -> list[str]:
    """A sentence, or the pieces of one that is too long to be one; cut at spaces where there are any."""
    pieces = []
    while len(sentence) > _SENTENCE:
        space = sentence.rfind(" ", _SENTENCE // 2, _SENTENCE)
        end = space if space > 0 else _SENTENCE
        pieces.append(sentence[:end].strip())
        sentence = sentence[end:].strip()
    return [*pieces, sentence] if sentence else pieces
