"""`elmo-bench finetune weights=mini corpus='text/*.txt' out=my-elmo`.

It trains weights further on your text. Options are in
elmo_bench/pretraining/conf/finetune.yaml. `elmo-bench texts` writes the text of a task.
"""

from functools import partial

from elmo_bench.cli import pretrain

main = partial(pretrain.main, command="finetune")
