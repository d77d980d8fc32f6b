"""Why this price? A network reads parcel labels, a theory knows the tariff, the layer explains.

Constraints have names here, and explanations use them: what the network read and how certain it
was, what the solver overruled, what came second, and which rules stand between the reading and the
price that a customer expected.
"""

import json

import z3

from smtlayer import SMTLayer, Theory, one_hot

weight, zone, price = z3.Ints("weight zone price")
express = z3.Bool("express")
theory = Theory(
    {
        "2 a kilogram and 3 a zone, express is 4 more": price
        == 2 * weight + 3 * zone + z3.If(express, 4, 0),
        "express parcels weigh up to 3 kilograms": z3.Implies(express, weight <= 3),
        "express goes to zones 1 and 2": z3.Implies(express, zone <= 2),
    },
    inputs=[one_hot(weight, range(1, 6)), one_hot(zone, range(1, 4)), express],
    outputs=[one_hot(price, range(5, 21))],
)
layer = SMTLayer(theory)

# Three labels, as a network might have read them: 5 columns for the weight, 3 for the zone, 1.
logits = 4.0 * theory.encode(weight=[2, 5, 4], zone=[1, 3, 2], express=[1, 1, 0]).float()
logits[1, 8] = 1.0  # of the second it is not sure whether it is express
logits[2, 5] = 1.5  # the third seems to say zone 1 as well as zone 2

told = layer.explain(logits, runner_up=True)
print(told, end="\n\n")

# The customer of the first parcel expected to pay 9.
print("Why not 9?")
(row,) = layer.explain(logits[0], wanted={"price": 9})
print(row, end="\n\n")
for broken in row.blame.constraints:
    print(f"rule {broken.index}: {broken.text}")

# The same as plain data, for a log or a page; in a notebook, `told` shows as a table.
data = told.to_list()
print(json.dumps(data[1]["overruled"]))
print([explanation.status for explanation in told])
