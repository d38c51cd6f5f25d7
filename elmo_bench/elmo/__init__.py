"""The biLM of ELMo (Peters et al. 2018).

- `model.py`: the reference. Read this first. `kernels/`: the same function, fast.
- `encoder.py`: `ElmoEncoder`, with `frozen.py` (weights that nothing trains) and `batches.py` (sorting sentences).
- `options.py`, `weights.py`, `published.py`: file formats and published names. `pretrained.py`: finding and loading.
- `hub.py`, `export.py`: the Hugging Face Hub, saving and exporting.
- `allennlp/`: AllenNLP's `Elmo` and `batch_to_ids`. `embed.py`: the vectors of a whole file.
"""
