"""The linear softmax of the probes."""

from torch import Tensor, nn
from torch.nn import functional


class LinearProbe(nn.Module):
    """Scores that are linear in a frozen vector, whatever its scale.

    Each number of a vector is first brought to mean 0 and variance 1: those of the batch in training, of running
    averages in evaluation. The scores stay linear in the vector. Without it a layer of small numbers learns slowly
    (those of ELMo's shape with random weights are some 30 times smaller than elmo-mini's), and a limit of epochs would
    judge scale.

    Source: the linear probes of He et al. (2022), Masked autoencoders are scalable vision learners, appendix A.1.
    """

    def __init__(self, dim: int, classes: int):
        super().__init__()
        self.standardise = nn.BatchNorm1d(dim, eps=1e-8, affine=False)
        self.scores = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Scores [N, classes] of vectors [N, dim]."""
        norm = self.standardise
        if self.training and len(x) == 1:  # a batch of one word has no variance of its own
            x = functional.batch_norm(x, norm.running_mean, norm.running_var, eps=norm.eps)
        else:
            x = norm(x)
        scores: Tensor = self.scores(x)
        return scores
