import base64
import io

import pytest
import torch
from matplotlib.image import imread

from reports.made import examples_of
from reports.page_checks import checked
from smtlayer_studies.reports.confusion import confusions
from smtlayer_studies.tasks.blocks import half_blocks, side_by_side
from smtlayer_studies.tasks.html import png_uri
from smtlayer_studies.tasks.liars.sentences import Kind, tokens, wording
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.liars.view import LiarsView


def test_a_png_holds_the_ink():
    image = torch.rand(5, 9)
    kind, _, data = png_uri(image).partition(",")
    assert kind == "data:image/png;base64"
    pixels = torch.from_numpy(imread(io.BytesIO(base64.b64decode(data))))
    assert pixels.shape == (5, 9, 4)
    assert torch.allclose(pixels[..., 3], image, atol=0.5 / 255 + 1e-6)
    assert not pixels[..., :3].any()


def test_blocks_show_the_ink():
    image = torch.zeros(5, 4)
    image[0, 0] = image[1, 1] = image[4, 3] = 1
    assert half_blocks(image) == ["▀▄", "", "   ▀"]


def test_images_that_are_too_wide_are_halved_and_broken_into_lines():
    images = torch.ones(3, 8, 8)
    assert side_by_side(images, ["a", "b", "c"], 40).splitlines()[0] == "   ".join(["█" * 8] * 3)
    small = side_by_side(images, ["a", "b", "c"], 12).splitlines()
    assert small[:3] == ["████   ████", "████   ████", "a      b"]
    assert small[-1] == "c"


@pytest.mark.parametrize("width", [7, 30, 60, 98])
def test_an_image_wider_than_a_line_is_shrunk_until_it_fits(width):
    lines = side_by_side(torch.ones(1, 28, 224), [""], width).splitlines()
    assert width / 2 < max(map(len, lines)) <= width
    assert lines[-1]  # nothing below without a caption


def test_confusions_of_a_puzzle_are_in_words():
    kinds = (Kind(0, 1, True), Kind(1, 2, False), Kind(2, 0, True))
    signs = torch.tensor([[sign for kind in kinds for sign in kind.signs]])
    sentences = torch.tensor([[tokens(wording(kind, 0)) for kind in kinds]])
    read = signs.clone()
    read[0, 6] = -1  # reads an accusation as a defence
    read[0, 7:10] = -1  # and no speaker
    wanted = torch.tensor([[1, -1, -1]])
    examples = examples_of(liars_theory(), sentences, read, signs.to(torch.int8), wanted)
    speaks, whom, what = confusions(LiarsView(), examples)
    assert [one.kind for one in (speaks, whom, what)] == [
        "who speaks", "of whom", "accuses or defends"
    ]  # fmt: skip
    assert speaks.truths == ("Alice", "Bob", "Charlie")
    assert speaks.read == ((1, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0))
    assert speaks.taken == ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))
    assert whom.read == ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))
    assert what.truths == ("accuses", "defends")
    assert what.read == ((1, 1, 0), (0, 1, 0))


GOOD = (
    '<!doctype html>\n<html lang="en"><head><title>t</title></head><body><h1 id="a">t</h1>'
    '<a href="#a">up</a>{}</body></html>'
)


def test_the_checks_of_pages_let_good_ones_through():
    assert checked(GOOD.format("<h2>x</h2>")).text == "t t up x"


@pytest.mark.parametrize("bad", [
    '<img src="https://example.org/x.png" alt="x">', '<script src="x.js"></script>',
    '<link rel="stylesheet" href="x.css">', "<style>body { background: url(x.png) }</style>",
    "<style>@import 'x.css';</style>", '<p style="background:url(//x)"></p>', "<p><b></p></b>",
    "<p>", '<p id="a"></p>', '<a href="#gone">x</a>', '<img src="data:image/png;base64,">',
    "<h3>x</h3>", '<p onclick="x()"></p>', "</div>", "<svg></svg>",
])  # fmt: skip
def test_the_checks_of_pages_see_bad_ones(bad):
    with pytest.raises(AssertionError):
        checked(GOOD.format(bad))
