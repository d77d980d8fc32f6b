"""Networks that the tasks share."""

import torch

from smtlayer_studies.tasks.algebra.network import WholeImageNetwork


def shapes(network):
    return [tuple(p.shape) for p in network.parameters() if p.ndim > 1]


def test_the_network_for_the_whole_image_is_the_papers():
    network = WholeImageNetwork()
    assert shapes(network) == [
        (64, 1, 3, 3), (64, 64, 3, 3), (128, 64, 3, 3), (256, 128, 3, 3), (256, 26_112), (16, 256),
    ]  # fmt: skip
    assert [layer.stride for layer in network.layers[:8:2]] == [(2, 2), (2, 2), (1, 1), (1, 1)]
    assert network(torch.zeros(2, 28, 224)).shape == (2, 16)
    dense = network.layers[-1].weight
    torch.testing.assert_close(dense @ dense.T, torch.eye(16), atol=1e-5, rtol=0)
    biases = [p for p in network.parameters() if p.ndim == 1]
    assert [len(bias) for bias in biases] == [64, 64, 128, 256, 256, 16]
    assert not any(bias.any() for bias in biases)
