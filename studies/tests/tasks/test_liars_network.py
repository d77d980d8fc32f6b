import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from smtlayer import SMTLayer
from smtlayer_studies.tasks.liars.network import SentenceReader
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.networks import DenseHead


def some_tokens(rows=3):
    return LiarsPuzzle().rows("test", rows, 0).items


def test_the_network_is_the_papers():
    network = LiarsPuzzle().network()
    sizes = {name: tuple(p.shape) for name, p in network.named_parameters()}
    assert sizes.pop("words.weight") == (22, 300)
    for layer, n_inputs in ((0, 300), (1, 1024)):
        for way in ("ahead", "back"):
            name = f"layers.{layer}.{way}"
            assert sizes.pop(f"{name}.weight_ih_l0") == (4 * 512, n_inputs)
            assert sizes.pop(f"{name}.weight_hh_l0") == (4 * 512, 512)
            assert sizes.pop(f"{name}.bias_ih_l0") == sizes.pop(f"{name}.bias_hh_l0") == (4 * 512,)
    assert sizes == {
        "dense.0.weight": (128, 1024), "dense.0.bias": (128,),
        "dense.2.weight": (7, 128), "dense.2.bias": (7,),
    }  # fmt: skip
    assert network(some_tokens()).shape == (3, 21)


def test_the_conventional_head_has_one_hidden_layer_of_512():
    head = DenseHead(LiarsPuzzle().theory)
    assert isinstance(head, DenseHead)
    assert [tuple(p.shape) for p in head.parameters()] == [(512, 21), (512,), (3, 512), (3,)]


def test_it_equals_pytorchs_bidirectional_lstm_on_packed_sentences():
    network = SentenceReader(width=16).double()
    tokens = some_tokens(20).flatten(0, 1)
    lengths = (tokens != 0).sum(-1)
    assert len(lengths.unique()) > 3
    lstm = nn.LSTM(300, 16, num_layers=2, bidirectional=True, batch_first=True).double()
    for i, layer in enumerate(network.layers):
        for way, suffix in ((layer.ahead, ""), (layer.back, "_reverse")):
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                setattr(lstm, f"{part}_l{i}{suffix}", getattr(way, f"{part}_l0"))
    packed = pack_padded_sequence(
        network.words(tokens), lengths, batch_first=True, enforce_sorted=False
    )
    _, (hidden, _) = lstm(packed)
    expected = network.dense(torch.cat([hidden[-2], hidden[-1]], -1))
    torch.testing.assert_close(network(tokens[:, None]), expected)


def test_padding_changes_neither_logits_nor_gradients():
    network = SentenceReader(width=32)
    tokens = some_tokens()
    padded = torch.cat([tokens, torch.zeros(3, 3, 5, dtype=torch.int64)], -1)
    logits = network(tokens)
    torch.testing.assert_close(network(padded), logits)
    logits.square().sum().backward()
    expected = [p.grad.clone() for p in network.parameters()]
    network.zero_grad()
    network(padded).square().sum().backward()
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert gradient.any()
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
    for i in range(3):  # a sentence alone, without any padding
        alone = tokens[0, i, : int((tokens[0, i] != 0).sum())]
        torch.testing.assert_close(network(alone[None, None])[0], logits[0, 7 * i : 7 * i + 7])


def test_all_sentences_go_through_the_same_reader():
    network = SentenceReader(width=32)
    tokens = some_tokens()
    expected = network(tokens).reshape(3, 3, 7).flip(1).flatten(1)
    torch.testing.assert_close(network(tokens.flip(1)), expected)


def test_words_at_both_ends_reach_the_logits():
    network = SentenceReader(width=32)
    tokens = some_tokens(1)
    for place in range(4):
        other = tokens.clone()
        other[0, 0, place] = tokens[0, 0, place] % 21 + 1
        assert not torch.equal(network(other)[0, :7], network(tokens)[0, :7])


def test_every_start_is_the_seeds():
    task = LiarsPuzzle()
    torch.manual_seed(3)
    one = task.network()
    torch.manual_seed(3)
    two = task.network()
    assert all(map(torch.equal, one.parameters(), two.parameters()))


def test_a_step_through_the_layer_reaches_every_parameter():
    task = LiarsPuzzle()
    rows = task.rows("train", 16, 0)
    network, layer = SentenceReader(width=32), SMTLayer(task.theory, backward="maxsmt")
    outputs = layer(network(rows.items))
    nn.functional.binary_cross_entropy_with_logits(outputs, rows.targets).backward()
    assert all(p.grad is not None and p.grad.any() for p in network.parameters())
