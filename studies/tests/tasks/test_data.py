"""Data files: which there are, whether they are right, and fetching them. No network is used."""

import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.tasks import data
from smtlayer_studies.tasks.data import checksum, data_folder, files, find, state
from smtlayer_studies.tasks.data_files import FILES, DataFile
from smtlayer_studies.tasks.download import download, wants_download

REAL = os.environ.get("SMTLAYER_DATA")
CONTENT = bytes(range(256)) * 1000


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    for name in ("SMTLAYER_DATA", "SMTLAYER_DOWNLOAD", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def register(monkeypatch):
    """Adds a file to the registry, with the URLs given."""

    def add(*urls, content=CONTENT, name="thing"):
        file = DataFile(
            name,
            dataset="things",
            path=f"things/{name}.bin",
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
            licence="none",
            origin="made in a test",
            used_for="tests",
            without="nothing is tested",
            urls=urls,
        )
        monkeypatch.setitem(FILES, name, file)
        return file

    return add


class Pages(http.server.BaseHTTPRequestHandler):
    """A server on this machine: what it answers is in the address."""

    asked: list[str] = []  # noqa: RUF012 - one server at a time

    def do_GET(self):
        self.asked.append(self.path)
        if self.path == "/good":
            self.answer(200, CONTENT)
        elif self.path == "/wrong":
            self.answer(200, CONTENT[::-1])
        elif self.path == "/long":
            self.answer(200, CONTENT + b"more")
        elif self.path == "/short":
            self.answer(200, CONTENT[:100_000], length=len(CONTENT))
        elif self.path == "/silent":
            self.server.patience.wait(600)
        elif self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
        else:
            self.send_error(404)

    def answer(self, code, content, length=None):
        self.send_response(code)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Pages.asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as running:
        running.patience = threading.Event()
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.patience.set()
        running.shutdown()
        thread.join()


def fetch(name="thing", folder=None, **options):
    return download(name, folder, schemes=("http",), **options)


def left_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_folder_is_named_by_option_then_environment_then_the_cache(monkeypatch, tmp_path):
    assert data_folder() == tmp_path / "cache" / "data"
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path / "env"))
    assert data_folder() == tmp_path / "env"
    assert data_folder(tmp_path / "option") == tmp_path / "option"
    monkeypatch.setenv("SMTLAYER_DATA", "~/d")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / "d"


def test_without_our_cache_variable_the_users_cache_folder_is_used(monkeypatch, tmp_path):
    monkeypatch.delenv("SMTLAYER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "smtlayer" / "data"
    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    assert data_folder() is None


def test_every_file_is_described_once():
    assert len({file.path for file in FILES.values()}) == len(FILES)
    for name, file in FILES.items():
        assert name == file.name
        assert len(file.sha256) == 64
        assert all((file.licence, file.origin, file.used_for, file.without, file.size))
        assert all(url.startswith("https://") for url in file.urls)
        assert all(url.rpartition("/")[2] == file.path.rpartition("/")[2] for url in file.urls)


def test_files_go_by_their_name_their_data_set_or_all():
    assert files("sudoku-boards") == files("sudoku") == (FILES["sudoku-boards"],)
    assert len(files("mnist")) == 4
    assert files("all") == tuple(FILES.values())
    with pytest.raises(ConfigError, match=r"called 'mnits'\. Did you mean 'mnist'"):
        files("mnits")
    with pytest.raises(ConfigError, match=r"called 'zzz'\. Choose one of all, emnist,"):
        files("zzz")


@pytest.mark.parametrize("name", FILES)
def test_the_real_file_is_what_it_should_be(name):
    path = REAL and FILES[name].in_folder(Path(REAL))
    if not path or not path.is_file():
        pytest.skip(f"needs {FILES[name].path} in the folder that SMTLAYER_DATA names")
    assert state(FILES[name], Path(REAL)) == "ok"
    assert path.stat().st_size == FILES[name].size


def test_a_right_file_is_found(register, tmp_path):
    file = register()
    path = file.in_folder(tmp_path)
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert state(file, tmp_path) == "ok"
    assert find("thing", tmp_path) == path


def test_a_missing_file_says_what_to_do(register, tmp_path):
    file = register("https://example.org/thing.bin")
    assert state(file, tmp_path) == "missing"
    with pytest.raises(MissingDataError) as caught:
        find("thing", tmp_path)
    assert str(caught.value) == (
        f"data: thing is needed, and {tmp_path}/things/thing.bin does not exist. Fetch it with: "
        f"smtlayer data --download things --data-dir {tmp_path}. Another data folder is named with "
        f"--data-dir or SMTLAYER_DATA."
    )


def test_a_missing_file_without_a_source_says_how_it_was_made(register, tmp_path):
    register()
    with pytest.raises(MissingDataError, match=r"made in a test.*by hand.*nothing is tested"):
        find("thing", tmp_path)
    with pytest.raises(MissingDataError, match=r"cannot be downloaded.*made in a test.*by hand"):
        download("thing", tmp_path)


def test_no_folder_at_all_is_said_so(register, monkeypatch):
    file = register("https://example.org/thing.bin")
    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    assert state(file) == "missing"
    with pytest.raises(MissingDataError, match=r"there is no data folder.*--data-dir"):
        find("thing")
    with pytest.raises(MissingDataError, match=r"no folder to store thing in.*--data-dir"):
        download("thing")


def test_the_error_about_a_damaged_file_has_both_checksums(register, tmp_path):
    file = register("https://example.org/thing.bin")
    path = file.in_folder(tmp_path)
    path.parent.mkdir()
    path.write_bytes(CONTENT[:-1])
    assert state(file, tmp_path) == "damaged"
    got = hashlib.sha256(CONTENT[:-1]).hexdigest()
    with pytest.raises(MissingDataError) as caught:
        find("thing", tmp_path)
    assert f"expected SHA-256 {file.sha256} (256,000 bytes), got {got} (255,999" in str(
        caught.value
    )
    fetch = f"smtlayer data --download things --data-dir {tmp_path}."
    assert f"Delete it. Fetch it with: {fetch}" in str(caught.value)
    assert find("thing", tmp_path, check=False) == path


def test_a_checksum_is_computed_once_and_again_when_the_file_changes(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    reads = []
    real = hashlib.file_digest
    monkeypatch.setattr(data.hashlib, "file_digest", lambda *a: reads.append(1) or real(*a))
    assert checksum(path) == checksum(path) == hashlib.sha256(b"one").hexdigest()
    assert len(reads) == 1
    path.write_bytes(b"three")
    assert checksum(path) == hashlib.sha256(b"three").hexdigest()


def test_a_file_is_fetched_once_and_progress_told(register, server, tmp_path):
    file = register(f"{server}/good")
    received = []
    path = fetch(folder=tmp_path / "new", progress=lambda *now: received.append(now))
    assert path == tmp_path / "new" / "things" / "thing.bin"
    assert path.read_bytes() == CONTENT
    assert received[-1] == (file.size, file.size)
    assert len(received) > 1
    assert left_in(tmp_path) == [path]
    assert fetch(folder=tmp_path / "new") == path
    assert Pages.asked == ["/good"]


def test_the_default_folder_is_in_the_cache(register, server, tmp_path):
    register(f"{server}/good")
    assert fetch() == tmp_path / "cache" / "data" / "things" / "thing.bin"


def test_a_damaged_file_is_replaced(register, server, tmp_path):
    file = register(f"{server}/good")
    path = file.in_folder(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    assert fetch(folder=tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("wrong", "expected SHA-256 .*, got "),
        ("long", "longer than 256,000 bytes"),
        ("short", "ended after 100,000 of 256,000 bytes|IncompleteRead"),
        ("absent", "404"),
        ("silent", "timed out"),
    ],
)
def test_what_is_not_the_file_is_not_kept(register, server, tmp_path, page, why):
    file = register(f"{server}/{page}")
    with pytest.raises(MissingDataError, match=why) as caught:
        fetch(folder=tmp_path, timeout_s=0.5 if page == "silent" else 300)
    assert f"{server}/{page}" in str(caught.value)
    assert f"save {server}/{page} as {file.in_folder(tmp_path)}" in str(caught.value)
    assert file.sha256 in str(caught.value)
    assert left_in(tmp_path) == []


def test_a_wrong_answer_leaves_a_damaged_file_as_it_was(register, server, tmp_path):
    path = register(f"{server}/wrong").in_folder(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    with pytest.raises(MissingDataError):
        fetch(folder=tmp_path)
    assert left_in(tmp_path) == [path]
    assert path.read_bytes() == b"damaged"


def test_the_next_url_is_tried(register, server, tmp_path):
    register(f"{server}/absent", f"{server}/wrong", f"{server}/good", f"{server}/short")
    assert fetch(folder=tmp_path).read_bytes() == CONTENT
    assert Pages.asked == ["/absent", "/wrong", "/good"]


def test_all_urls_that_failed_are_named(register, server, tmp_path):
    register(f"{server}/absent", "http://127.0.0.1:9/closed")
    with pytest.raises(MissingDataError, match=r"/absent \(.*404.*\) nor from .*:9/closed \(.*"):
        fetch(folder=tmp_path)


def test_an_interrupted_download_leaves_nothing(register, server, tmp_path):
    register(f"{server}/good")

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(folder=tmp_path, progress=interrupt)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("url", ["{server}/good", "file://{path}", "ftp://127.0.0.1/x"])
def test_only_https_is_used(register, server, tmp_path, url):
    (tmp_path / "source").write_bytes(CONTENT)
    register(url.format(server=server, path=tmp_path / "source"))
    with pytest.raises(MissingDataError, match="only https may be used"):
        download("thing", tmp_path / "folder")
    assert Pages.asked == []
    assert left_in(tmp_path) == [tmp_path / "source"]


def test_redirects_are_followed_but_not_to_other_schemes(register, server, tmp_path):
    register(f"{server}/to/{server}/good")
    assert fetch(folder=tmp_path / "one").read_bytes() == CONTENT
    register(f"{server}/to/ftp://127.0.0.1/good")
    with pytest.raises(MissingDataError, match="only http may be used, and ftp://"):
        fetch(folder=tmp_path / "two")


def test_a_folder_that_cannot_be_written_is_named(register, server, tmp_path):
    register(f"{server}/good", f"{server}/good")
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingDataError, match=r"cannot be stored in .*file/things: .*--data-dir"):
        fetch(folder=tmp_path / "file")


@pytest.mark.parametrize(
    ("value", "wanted"), [("1", True), ("yes", True), ("0", False), ("", False)]
)
def test_the_environment_may_ask_for_downloads(monkeypatch, value, wanted):
    assert not wants_download()
    monkeypatch.setenv("SMTLAYER_DOWNLOAD", value)
    assert wants_download() is wanted
