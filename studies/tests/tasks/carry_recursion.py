"""The likelihood of a sum by a recursion over carries: what tests compare a layer with."""

import torch


def log_likelihood(logits, total):
    """The log-probability that two numbers have a sum, if digits are independent.

    Args:
        logits: (B, 2 length, 10), most significant digit first, of one number and then the other.
        total: (B, length + 1), the digits of the sum.
    """
    first, second = logits.log_softmax(-1).chunk(2, dim=1)
    rows = torch.arange(len(logits))
    impossible = logits.new_full((len(logits),), -torch.inf)
    carries = [torch.zeros_like(impossible), impossible]  # log-probabilities of carrying 0 and 1
    for column in reversed(range(first.shape[1])):
        ways = [[], []]
        for carry, before in enumerate(carries):
            for digit in range(10):
                other = total[:, column + 1] - digit - carry  # what the second digit must be
                log_prob = before + first[:, column, digit] + second[rows, column, other % 10]
                for out in range(2):
                    ways[out].append(torch.where(other % 10 - other == 10 * out, log_prob, -1e30))
        carries = [torch.stack(some).logsumexp(0) for some in ways]
    return torch.where(total[:, 0] == 1, carries[1], carries[0])
