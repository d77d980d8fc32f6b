"""What `import smtlayer` offers comes when it is asked for, and is the same as ever."""

import subprocess
import sys

import pytest

import smtlayer
from smtlayer import api


def test_importing_the_package_loads_neither_torch_nor_a_solver():
    code = "import sys, smtlayer; print({'torch', 'z3', 'pysat'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_every_name_is_there_and_listed():
    names = [name for name in vars(api) if not name.startswith("_")]
    assert "SMTLayer" in names
    assert smtlayer.__all__ == names
    for name in names:
        assert getattr(smtlayer, name) is getattr(api, name)
    assert {*names, "nn", "solvers", "theory", "errors", "__version__"} <= set(dir(smtlayer))


def test_packages_can_be_reached_without_importing_them():
    code = "import smtlayer; print(smtlayer.nn.SMTLayer.__name__, smtlayer.theory.Theory.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "SMTLayer Theory\n"


def test_a_name_that_is_not_offered_is_an_error_as_anywhere():
    with pytest.raises(AttributeError, match="module 'smtlayer' has no attribute 'SMTLyaer'"):
        _ = smtlayer.SMTLyaer
    with pytest.raises(ImportError, match="cannot import name 'SMTLyaer' from 'smtlayer'"):
        exec("from smtlayer import SMTLyaer")
    assert not hasattr(smtlayer, "_hidden")
