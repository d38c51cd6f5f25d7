"""What a head can see: frozen encoders, static and learned words, and the embedder that joins them.

- `protocol.py`: the `Encoder` protocol. Kinds of encoders are modules with `load(**options)`: `elmo.py`, `hf.py`.
- `static.py`, with `glove_text.py` and `vector_files.py`: static word vectors.
- `mix.py`: the learned mix of an encoder's layers. `words.py`: word vectors as a module.
- `embedder.py`: everything that a head sees, concatenated.
- `cache.py`, with `cache_files.py`: the layers of frozen encoders, kept in memory or on disk.
"""
