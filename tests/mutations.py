"""Files after what happens to files, for tests that a reader reads or refuses whatever it is given."""

from __future__ import annotations

import gzip
import random


def mutated(content: bytes, chance: random.Random) -> bytes:
    """A file after what happens to files: cut off, bytes lost, changed or repeated, lines moved, packed."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 6)):
        at, end = sorted((chance.randint(0, len(changed)), chance.randint(0, len(changed))))
        match chance.randint(0, 7):
            case 0:
                del changed[at:]
            case 1:
                del changed[at : min(end, at + 9)]
            case 2:
                changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 4)))
            case 3:
                changed[at:at] = chance.choice(
                    [b",", b";", b'"', b"\n", b"\r", b"\t", b"{", b"}", b"[", b"-", b"1e9", b"NULL", b"\xff"]
                )
            case 4:
                changed[at:at] = changed[at:end]
            case 5 if at < len(changed):
                changed[at] = chance.choice(b',;"\n0123456789.eE-+ \x00')
            case 6:
                lines = bytes(changed).splitlines(keepends=True)
                chance.shuffle(lines)
                changed = bytearray(b"".join(lines))
            case 7 if chance.random() < 0.05:
                changed = bytearray(gzip.compress(bytes(changed)))
    return bytes(changed)
