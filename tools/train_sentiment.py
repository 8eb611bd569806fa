"""Train the sentiment weights that come with Dure from a file of reviews with stars.

    python tools/train_sentiment.py reviews.tsv.gz

The file has columns `stars` and `text`. Few stars are negative, nine or ten positive; what
lies between is left out. A tenth is held back to measure with.
"""

import gzip
import sys
from pathlib import Path
from random import Random

from dure.ai.local.bayes import Classifier, train

FEATURES = 36_000
BYTES_MAX = 350_000
TARGET = Path(__file__).parent.parent / "src/dure/ai/local/sentiment-ko.json.gz"


def examples(path: Path) -> list[tuple[str, str]]:
    """Pairs of text and label, as many of each, in a fixed order."""
    sides: dict[str, list[str]] = {"negative": [], "positive": []}
    header, *lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    names = header.split("\t")
    for line in lines:
        row = dict(zip(names, line.split("\t"), strict=False))
        stars, text = int(row.get("stars") or 5), row.get("text", "").strip()
        if text and (stars <= 4 or stars >= 9):
            sides["negative" if stars <= 4 else "positive"].append(text)
    size = min(map(len, sides.values()))
    draw = Random(1)
    pairs = [(text, label) for label, texts in sides.items() for text in draw.sample(texts, size)]
    draw.shuffle(pairs)
    return pairs


def accuracy(classifier: Classifier, held_back: list[tuple[str, str]]) -> float:
    right = sum(classifier(text).label == label for text, label in held_back)
    return right / len(held_back)


def main(path: Path) -> int:
    pairs = examples(path)
    border = len(pairs) * 9 // 10
    classifier = train(pairs[:border], version="sentiment-ko-1", features=FEATURES)
    data = classifier.dump()
    print(f"{border} examples, accuracy {accuracy(classifier, pairs[border:]):.4f}")
    print(f"{len(classifier.weights)} features, {len(data)} bytes")
    if len(data) > BYTES_MAX:
        print(f"over {BYTES_MAX} bytes: nothing written")
        return 1
    TARGET.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
