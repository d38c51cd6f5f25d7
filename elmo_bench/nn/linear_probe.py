"""The linear softmax of the probes."""

from torch import Tensor, nn


class LinearProbe(nn.Module):
    """Scores that are linear in a frozen vector, whatever its scale.

    Each number of a vector is first brought to mean 0 and variance 1: those of the batch in training, of running
    averages in evaluation. That changes no decision that a linear softmax can make. Without it a layer of small
    numbers learns slowly (those of ELMo's shape with random weights are some 30 times smaller than elmo-mini's), and a
    limit of epochs would judge scale.

    Source: the linear probes of He et al. (2022), Masked autoencoders are scalable vision learners, appendix A.1.
    """

    def __init__(self, dim: int, classes: int):
        super().__init__()
        self.standardise = nn.BatchNorm1d(dim, eps=1e-8, affine=False)
        self.scores = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Scores [N, classes] of vectors [N, dim]; in training N is at least 2."""
        scores: Tensor = self.scores(self.standardise(x))
        return scores
