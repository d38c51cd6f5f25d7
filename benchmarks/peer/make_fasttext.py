"""Record gensim's fastText: `tests/golden/fasttext.npz`, n-gram vectors and what gensim makes of unseen words.

    pip install gensim && python benchmarks/peer/make_fasttext.py

What the file holds is listed in tests/golden/README.md.
"""

from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import FastText
from gensim.models.fasttext_inner import ft_hash_bytes

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
BUCKETS = 97
LENGTHS = ((1, 4), (3, 6), (5, 5))
SENTENCES = [["the", "naïve", "café", "of", "Zürich"], ["the", "東京", "river", "of", "the", "cafés"]] * 20
UNSEEN = ["Naïveté", "東京都", "a", "x😀y", "rivers", "der", "Ελλάδα", "<>", "naïve-café", "ß"]
HASHED = ["", "a", "<a", "é>", "京", "😀", "the river"]


def main() -> None:
    arrays: dict[str, Any] = {"unseen": np.array(UNSEEN), "hashed": np.array(HASHED)}
    arrays["hashes"] = np.array([ft_hash_bytes(text.encode()) for text in HASHED], np.uint32)
    for shortest, longest in LENGTHS:
        model = FastText(SENTENCES, sg=1, vector_size=6, bucket=BUCKETS, min_n=shortest, max_n=longest, workers=1)
        name = f"{shortest}-{longest}"
        arrays[f"{name}.ngrams"] = model.wv.vectors_ngrams
        arrays[f"{name}.vectors"] = np.stack([model.wv.get_vector(word) for word in UNSEEN])
    np.savez_compressed(GOLDEN / "fasttext.npz", **arrays)


if __name__ == "__main__":
    main()
