"""What a head can see: frozen encoders, static and learned words, and the embedder that joins them.

- `protocol.py`: the `Encoder` protocol. Kinds of encoders are modules with `load(**options)`: `elmo.py`, `random.py`,
  `hf.py` (with `hf_files.py` and `hf_words.py`), `cove.py`, `precomputed.py`.
  Several together are a stack.
- `static.py`, with `glove_text.py`, `binary_vectors.py` and `vector_files.py`: static word vectors. `words.py`: word
  vectors as a module.
- `embedder.py`: everything that a head sees, concatenated.
- `cache.py`, with `cache_files.py`: the layers of frozen encoders, kept in memory or on disk.
"""

from elmo_bench.base.include import extended

__path__ = extended("encoders", __path__)
