"""The network of the liar's puzzle: from the words of a sentence to what it says."""

import torch
from torch import Tensor, nn

from smtlayer_studies.tasks.liars.sentences import PADDING, WORDS


class SentenceReader(nn.Module):
    """The paper's reader of the liar's puzzle: sentences to 7 logits each, shared by all of them.

    Trainable word vectors, a bidirectional LSTM of two layers, then dense layers of 128 and 7 on
    the last layer's final states, the forward one after the last word and the backward one after
    the first. All start with PyTorch's initial weights.

    Padding has no effect: each sentence is reversed within its length for the backward direction,
    and no length is ever needed on the CPU, so that a GPU does not wait.

    Args:
        width: Size of the LSTM's state, for each direction.

    Shape:
        - tokens: $(B, s, T)$ int64, s sentences of up to T words, 0 after the end.
        - output: $(B, 7 s)$ logits.
    """

    def __init__(self, width: int = 512) -> None:
        super().__init__()
        self.words = nn.Embedding(1 + len(WORDS), 300, padding_idx=PADDING)
        self.layers = nn.ModuleList([_BothWays(300, width), _BothWays(2 * width, width)])
        self.dense = nn.Sequential(nn.Linear(2 * width, 128), nn.ReLU(), nn.Linear(128, 7))

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits for each sentence, side by side."""
        rows = len(tokens)
        tokens = tokens.flatten(0, 1)  # (N, T)
        lengths = (tokens != PADDING).sum(-1, keepdim=True)
        place = torch.arange(tokens.shape[1], device=tokens.device)
        turned = torch.where(place < lengths, lengths - 1 - place, place)[..., None]  # (N, T, 1)
        states = self.words(tokens)
        for layer in self.layers:
            ahead, back = layer(states, turned)
            states = torch.cat([ahead, back], -1)
        last = ahead.take_along_dim(lengths[..., None] - 1, 1)
        logits: Tensor = self.dense(torch.cat([last[:, 0], back[:, 0]], -1))
        return logits.reshape(rows, -1)


class _BothWays(nn.Module):
    """One layer of a bidirectional LSTM, whose backward direction starts at the last word."""

    def __init__(self, n_inputs: int, width: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(n_inputs, width, batch_first=True)
        self.back = nn.LSTM(n_inputs, width, batch_first=True)

    def forward(self, states: Tensor, turned: Tensor) -> tuple[Tensor, Tensor]:
        """States of both directions at each word; `turned` is the word to put there."""
        ahead, _ = self.ahead(states)
        back, _ = self.back(states.take_along_dim(turned, 1))
        return ahead, back.take_along_dim(turned, 1)
