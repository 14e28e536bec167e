"""Types: mypy on the package and on its user, and the stubs against the compiled module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
"""The folder of `pyproject.toml`, where mypy finds its settings."""

USER = """
import mavis

position: mavis.Position = mavis.Position("connect4", moves=["4"])
report: mavis.Report = mavis.Search(mavis.Model.bundled(), sims=8, order="arrival").run(position)
best: str | None = report.best
values = mavis.Model.bundled().evaluate([position]).distributions
reveal_type(values)
mavis.Search(lambda positions: [[0.5] * position.n_legal_moves for position in positions])
"""


def run(*arguments: str, cwd: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd)


def test_mypy_accepts_the_package() -> None:
    done = run("mypy", "--strict", "-p", "mavis")
    assert done.returncode == 0, done.stdout


def test_mypy_sees_the_types_of_a_user(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    done = run("mypy", "--strict", "user.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "ndarray" in done.stdout and ("float32" in done.stdout or "_32Bit" in done.stdout)
    (tmp_path / "wrong.py").write_text(USER + "mavis.Search(7, simz=3)\n")
    assert run("mypy", "--strict", "wrong.py", cwd=tmp_path).returncode == 1


def test_the_stubs_are_those_of_the_module() -> None:
    done = run("mypy.stubtest", "mavis._mavis")
    assert done.returncode == 0, done.stdout


def test_everything_public_is_documented() -> None:
    import mavis

    for name in mavis.__all__:
        thing = getattr(mavis, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for part, value in vars(thing).items():
                if not part.startswith("_") and (callable(value) or isinstance(value, property | staticmethod)):
                    assert getattr(value, "__doc__", None), f"{name}.{part}"
