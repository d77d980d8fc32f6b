"""Explanations: a network reads parcel labels, and a theory contains the tariff.

Constraints have names, which explanations use. An explanation reports what the network predicted
with which confidence, what the solver overruled, the second best answer, and the constraints that
rule out the price that a customer expected.
"""

import json

import z3

from smtlayer import SMTLayer, Theory, one_hot

weight, zone, price = z3.Ints("weight zone price")
express = z3.Bool("express")
theory = Theory(
    {
        "2 per kilogram, 3 per zone, 4 for express": price
        == 2 * weight + 3 * zone + z3.If(express, 4, 0),
        "express parcels weigh up to 3 kilograms": z3.Implies(express, weight <= 3),
        "express goes to zones 1 and 2": z3.Implies(express, zone <= 2),
    },
    inputs=[one_hot(weight, range(1, 6)), one_hot(zone, range(1, 4)), express],
    outputs=[one_hot(price, range(5, 21))],
)
layer = SMTLayer(theory)

# Three labels as predicted by a network: 5 columns for the weight, 3 for the zone, 1 for express.
logits = 4.0 * theory.encode(weight=[2, 5, 4], zone=[1, 3, 2], express=[1, 1, 0]).float()
logits[1, 8] = 1.0  # unsure whether the second parcel is express
logits[2, 5] = 1.5  # the third has zone 1 as well as zone 2

explanations = layer.explain(logits, runner_up=True)
print(explanations, end="\n\n")

# The customer of the first parcel expected to pay 9.
print("Why not 9?")
(row,) = layer.explain(logits[0], wanted={"price": 9})
print(row, end="\n\n")
for broken in row.blame.constraints:
    print(f"rule {broken.index}: {broken.text}")

# As plain data; in a notebook, `explanations` displays as a table.
data = explanations.to_list()
print(json.dumps(data[1]["overruled"]))
print([explanation.status for explanation in explanations])
