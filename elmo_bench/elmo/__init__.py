"""The biLM of ELMo (Peters et al. 2018).

- `model.py`: the reference. Read this first. `kernels/`: the same function, fast.
- `encoder.py`: `ElmoEncoder`, with `batches.py` (sorting sentences), `frozen.py`
  (vectors of words, remembered) and `tfhub.py` (the outputs of TF-Hub's module).
- `pretrained.py`: finding files by name, path or repository. `options.py`,
  `weights.py`: reading and writing them.
- `export.py`: saving, exporting, sharing. `embed.py`: the vectors of a whole file.
- `allennlp.py`: AllenNLP's `Elmo`, and `allennlp_embedder.py` its `ElmoEmbedder`;
  `batch_to_ids` is in `batches.py`.
"""
