"""Embeddings: hashed character pairs and triples, so that texts on one subject lie close."""

import base64
import math
import struct
from zlib import crc32


def embedding(text: str, dimensions: int) -> list[float]:
    vector = [0.0] * dimensions
    padded = f" {text.lower()} "
    for size in (2, 3):
        for place in range(len(padded) - size + 1):
            code = crc32(padded[place : place + size].encode())
            vector[code % dimensions] += 1.0 if code & 0x80000000 else -1.0
    length = math.sqrt(sum(each * each for each in vector)) or 1.0
    return [each / length for each in vector]


def packed(vector: list[float]) -> str:
    """Little-endian floats in base64, which official clients ask for."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
