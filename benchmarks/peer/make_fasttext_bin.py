"""Record fastText itself: `tests/golden/fasttext/`, small models as it saves them, and the vectors that it computes.

    pip install fasttext-wheel "numpy<2" && python benchmarks/peer/make_fasttext_bin.py

It needs an environment of its own, because the wheel is older than numpy 2.
What the files hold is listed in tests/golden/README.md.
"""

import tempfile
from pathlib import Path
from typing import Any

import fasttext
import numpy as np

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "fasttext"
TEXT = "the naïve café of Zürich\nthe 東京 river of the cafés\n" * 20
LABELLED = "__label__a the river of the café\n__label__b naïve Zürich\n" * 20
SEEN = ["the", "naïve", "café", "of", "Zürich", "東京", "river", "cafés", "</s>"]
UNSEEN = ["Naïveté", "東京都", "a", "x😀y", "rivers", "der", "Ελλάδα", "<>", "naïve-café", "ß", "THE"]
SMALL: dict[str, Any] = {"dim": 5, "bucket": 60, "minCount": 1, "epoch": 2, "thread": 1, "verbose": 0}


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    found: dict[str, Any] = {"seen": np.array(SEEN), "unseen": np.array(UNSEEN)}
    with tempfile.TemporaryDirectory() as folder:
        text, labelled = Path(folder) / "text.txt", Path(folder) / "labelled.txt"
        text.write_text(TEXT, encoding="utf-8")
        labelled.write_text(LABELLED, encoding="utf-8")
        models = {
            "skipgram": fasttext.train_unsupervised(str(text), model="skipgram", minn=2, maxn=4, **SMALL),
            "plain": fasttext.train_unsupervised(str(text), model="cbow", minn=0, maxn=0, **SMALL),
            "classifier": fasttext.train_supervised(str(labelled), minn=1, maxn=3, **(SMALL | {"bucket": 300})),
        }
    for name, model in models.items():
        model.save_model(str(GOLDEN / f"{name}.bin"))
        for words in ("seen", "unseen"):
            found[f"{name}.{words}"] = np.stack([model.get_word_vector(word) for word in found[words].tolist()])
    models["classifier"].quantize(cutoff=0, qnorm=False, input=None)
    models["classifier"].save_model(str(GOLDEN / "quantised.ftz"))
    np.savez_compressed(GOLDEN / "vectors.npz", **found)


if __name__ == "__main__":
    main()
