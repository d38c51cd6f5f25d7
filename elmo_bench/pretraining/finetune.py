"""Going on from trained weights on other text, most often that of a task (Peters et al. 2018, appendix A.1)."""

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.pretrained import load_bilm, locate_with_softmax
from elmo_bench.pretraining.corpus import Corpus, Counts, count_words, shard_files
from elmo_bench.pretraining.fit import fit_softmax
from elmo_bench.pretraining.load import load_language_model
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.perplexity import Perplexity, perplexity
from elmo_bench.pretraining.trainer import TextSize, Trained, first_process, train
from elmo_bench.pretraining.vocabulary import TargetVocabulary


def finetune(config: DictConfig) -> tuple[Trained, list[Perplexity]]:
    """Train `config.weights` further on `config.corpus`, with the vocabulary of their softmax.

    Weights without a softmax get one first, for the most frequent words of the corpus. Perplexity of the held-out
    text before and after, in the process that writes; nothing where there is no such text.
    """
    corpus = Corpus(tuple(shard_files(config.corpus)), config.tokenizer)
    heldout = Corpus(tuple(shard_files(config.heldout)), config.tokenizer) if config.heldout else None
    counts = count_words(corpus)
    model, vocabulary = _load(config, corpus, counts)
    before = perplexity(model, vocabulary, heldout) if heldout and first_process() else None
    model.dropout, model.softmax.samples = config.recipe.dropout, min(config.recipe.samples, len(vocabulary))
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    text = TextSize(counts.words.total(), counts.sentences)
    trained = train(model.train(), vocabulary, corpus, config, text=text, title="finetune")
    if before is None or heldout is None:
        return trained, []
    return trained, [before, perplexity(trained.model.eval(), vocabulary, heldout)]


def _load(config: DictConfig, corpus: Corpus, counts: Counts) -> tuple[LanguageModel, TargetVocabulary]:
    weights = str(config.weights)
    try:
        locate_with_softmax(weights)
    except UserError:
        bilm, _ = load_bilm(weights)  # raises where it is not the softmax alone that is missing
        vocabulary = TargetVocabulary.of(counts.words, config.recipe.vocabulary, sentences=counts.sentences)
        model = fit_softmax(
            bilm, corpus, vocabulary, steps=config.fit_steps, samples=config.recipe.samples, seed=config.seed
        )
        return model, vocabulary
    return load_language_model(weights)
