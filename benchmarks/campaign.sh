#!/usr/bin/env bash
# All runs behind results/, in order: the choices of the protocol, then table 1, then everything else, task by task.
#
#     ELMO_BENCH_DATA=FOLDER benchmarks/campaign.sh            # two runs at once, one thread each; JOBS=1 for one
#
# Start it again at any time: a finished run is skipped and a killed run resumes. results/RUNS.md names the commit that
# the runs are made with, and docs/choices.md what the choices were. Where time is short, the order is the plan.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${ELMO_BENCH_DATA:?the folder with the data of the open suite (elmo-bench fetch --suite open)}"
export OMP_NUM_THREADS=1
python=${PYTHON:-.venv/bin/python}
failed=0

sweep() {
  "$python" -m elmo_bench sweep "$@" suite=open size=cpu trainer.threads=1 logger=none "launcher.jobs=${JOBS:-2}" || {
    [ $? -eq 130 ] && exit 130 # interrupted
    failed=1
  }
}

# Stops the list where dev says that a default of this task has to change first or, with --tuned, where the rate of a tuned
# encoder is not chosen yet, or conf/experiment/tuned.yaml has another one (docs/choices.md).
settled() {
  "$python" benchmarks/choices.py "$@" || exit 1
}

# Is the budget long enough (twice the epochs), and the rate right? For the baseline and ELMo on the three quick tasks.
# Table 1 of each follows at once.
sweep task=ner encoder=glove,elmo seed=0,1,2
sweep task=ner encoder=glove,elmo seed=0,1,2 task.training.epochs=64
sweep experiment=tune task=ner
settled ner
sweep experiment=table1 task=ner encoder=glove,elmo_word,elmo
# The first command of a clone (make demo): its score is published.
sweep experiment=hello seed=0,1,2,3,4
sweep task=snli encoder=glove,elmo seed=0,1,2
sweep task=snli encoder=glove,elmo seed=0,1,2 task.training.epochs=48
sweep experiment=tune task=snli
settled snli
sweep experiment=table1 task=snli encoder=glove,elmo_word,elmo
sweep task=sst5 encoder=glove,elmo seed=0,1,2
sweep task=sst5 encoder=glove,elmo seed=0,1,2 task.training.epochs=16
sweep experiment=tune task=sst5
settled sst5
sweep experiment=table1 task=sst5 encoder=glove,elmo_word,elmo
sweep experiment=table1 task=coref encoder=glove,elmo_word,elmo
sweep experiment=table1 task=squad encoder=glove,elmo_word,elmo
sweep experiment=table1 task=srl encoder=glove,elmo_word,elmo
# What context is worth: ELMo reads one word at a time. Then the checks of table 1, whose rules are in docs/choices.md.
sweep experiment=table1 task=ner encoder=elmo_alone
sweep task=snli encoder=glove seed=0,1,2 task.head.dropout.recurrent=0.5 task.head.dropout.aligned=0.5 task.head.dropout.classifier=0.5
settled snli
sweep task=snli encoder=elmo seed=0,1,2 task.head.dropout.recurrent=0.5 task.head.dropout.aligned=0.5 task.head.dropout.classifier=0.5
sweep experiment=table3 task=snli
sweep task=sst5 encoder=elmo_word seed=0,1,2 task.training.epochs=16
sweep experiment=table1 task=snli,sst5 encoder=elmo_alone
# Frozen or tuned: the rates of docs/choices.md first, judged on dev. It stops unless conf/experiment/tuned.yaml has the chosen ones.
sweep task=ner encoder=minilm seed=0 encoder.contextual.tune=lora encoder.tune_lr=1e-4,3e-4,1e-3
sweep task=ner encoder=minilm,elmo seed=0 encoder.contextual.tune=full encoder.tune_lr=1e-5,3e-5,1e-4
settled ner --tuned
sweep experiment=tuned
# Context on the slow tasks.
sweep experiment=table1 task=coref,squad,srl encoder=elmo_alone
# Published encoders. Layers on disk: SST-5's of MiniLM take 12 GB, SNLI's of MPNet 17.
sweep experiment=controls encoder=minilm store=disk store.max_gb=50
sweep experiment=figure1 task=ner encoder=minilm
sweep experiment=controls encoder=mpnet store=disk store.max_gb=50
# Twice the budget on the slow tasks: reported, and chooses nothing.
sweep task=coref encoder=glove,elmo seed=0 task.training.epochs=60
sweep task=squad encoder=glove,elmo seed=0 task.training.epochs=40
sweep task=srl encoder=glove,elmo seed=0 task.training.epochs=90
# Controls: ELMo's network before training, and learned words.
sweep experiment=controls
# The paper's ablations: semantic roles on 30 %, less data, and the same 81 million tokens of text.
sweep experiment=table3
sweep experiment=table2 task=srl
sweep experiment=figure1
sweep experiment=ladder
sweep experiment=table2
sweep experiment=regularisation
sweep experiment=gamma
sweep experiment=ablation_inputs
# Probes of single layers.
sweep experiment=layers
sweep experiment=layers task=pos,deprel task.data.labels=control
exit "$failed"
