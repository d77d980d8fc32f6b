"""A theory with integers and names instead of bits: when do two guests leave?

A network reads the guests and their day of arrival from notes; the theory contains the rules of the
house. Days are integers, guests are an enumeration, and z3 does the arithmetic.
"""

import z3

from smtlayer import SMTLayer, Theory, one_hot

guest_sort, guests = z3.EnumSort("Guest", ["ada", "ben", "cleo"])
first, second = z3.Consts("first second", guest_sort)
arrival, stay, departure = z3.Ints("arrival stay departure")

theory = Theory(
    [
        first != second,  # two different guests share a visit
        stay == z3.If(z3.Or(first == guests[0], second == guests[0]), 3, 2),  # Ada stays longer
        departure == arrival + stay,
        departure <= 7,  # guests leave within the week
    ],
    inputs=[one_hot(first, guests), one_hot(second, guests), one_hot(arrival, range(1, 8))],
    outputs=[one_hot(departure, range(3, 8))],
)
print(theory.check(), end="\n\n")

layer = SMTLayer(theory).eval()  # at inference, contradictions are repaired
logits = 3.0 * theory.encode(first="ada", second=["ada", "ben"], arrival=[5, 2]).float()
logits[0, 1] = -0.5  # in the first note the network is not sure that the first guest is not Ben
logits[0, 9] = -0.4  # nor that they do not arrive on day 4
answer = layer.solve(logits)


def text_of(values: dict, row: int) -> str:
    return ", ".join(f"{name} {value[row]}" for name, value in values.items())


for row, cost in enumerate(answer.cost.tolist()):
    print(f"read    {text_of(theory.decode_inputs(logits), row)}")
    print(
        f"kept    {text_of(theory.decode_inputs(answer.inputs), row)} (overruled weight {cost:.1f})"
    )
    print(f"answer  {text_of(theory.decode(answer.outputs), row)}")
