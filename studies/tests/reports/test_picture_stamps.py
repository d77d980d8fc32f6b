import base64

import pytest
import torch

from smtlayer.errors import ArgumentError
from smtlayer_studies.reports.picture_stamps import png_stamp, records_digest, stamp_png
from smtlayer_studies.tasks.html import png_uri


@pytest.fixture
def records(tmp_path):
    folder = tmp_path / "results"
    (folder / "row").mkdir(parents=True)
    (folder / "row" / "best-seed0.json").write_text('{"accuracy": 0.5}\n')
    (folder / "row" / "best-seed1.json").write_text('{"accuracy": 0.6}\n')
    return folder


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(base64.b64decode(png_uri(torch.eye(8)).partition(",")[2]))
    return path


def test_any_change_to_the_records_changes_the_digest(records):
    file = records / "row" / "best-seed1.json"
    seen = [records_digest([records])]
    file.write_text('{"accuracy": 0.7}\n')
    seen.append(records_digest([records]))
    file.rename(file.with_name("best-seed2.json"))
    seen.append(records_digest([records]))
    file.with_name("best-seed2.json").unlink()
    seen.append(records_digest([records]))
    seen.append(records_digest([]))
    assert len(set(seen)) == 5


def test_the_digest_depends_on_records_only(records, tmp_path):
    digest = records_digest([records, records / "row" / "best-seed0.json"])
    (records / "README.md").write_text("not a record")
    (records / "row" / "best-seed0.json").write_bytes(b'{"accuracy": 0.5}\r\n')
    moved = (tmp_path / "elsewhere").mkdir() or records.rename(tmp_path / "elsewhere" / "results")
    assert records_digest([moved / "row" / "best-seed0.json", str(moved)]) == digest


def test_a_stamp_can_be_read_and_replaced_and_the_picture_stays_the_same(picture):
    plt = pytest.importorskip("matplotlib.image")
    before = plt.imread(picture)
    assert png_stamp(picture) is None
    stamp_png(picture, "0123456789abcdef")
    size = picture.stat().st_size
    assert png_stamp(picture) == "0123456789abcdef"
    stamp_png(picture, "fedcba9876543210")
    assert png_stamp(picture) == "fedcba9876543210"
    assert picture.stat().st_size == size
    assert (plt.imread(picture) == before).all()


def test_only_png_files_are_stamped(tmp_path):
    path = tmp_path / "picture.svg"
    path.write_text("<svg/>")
    assert png_stamp(path) is None
    with pytest.raises(ArgumentError, match=r"stamp_png expects a PNG file. Got .*picture\.svg"):
        stamp_png(path, "0")
