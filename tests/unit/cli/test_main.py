"""Commands, their exit status, and what they print."""

import json
from pathlib import Path

import pytest

from finchsched.api import explain
from finchsched.bench import kernels
from finchsched.bench.data import DataSet, uniform
from finchsched.cli.main import COMMANDS, main
from finchsched.cli.operands import parse_operands
from finchsched.version import __version__

SDDMM = "S[i,j] += A[i,j]*X[i,k]*Y[j,k]"
WORDS = ["A=sample:west0067.mtx", "X=dense:67x16", "Y=dense:67x16"]


def test_explain_prints_what_the_function_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", SDDMM, *WORDS]) == 0
    assert capsys.readouterr().out == explain(SDDMM, **parse_operands(WORDS)) + "\n"


def test_explain_with_a_format_for_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["explain", "B[i,j] = alpha * A[j,i]", "A=sample:west0067.mtx", "alpha=scalar:2.5", "--format=csc"]) == 0
    )
    assert "(B): csc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["explain", SDDMM, "A=what"], "cannot read 'what'"),
        (["explain", SDDMM, "A=missing.mtx"], "missing.mtx: No such file"),
        (["explain", SDDMM, "A=dense:3x3"], "X is neither an operand nor an index"),
        (["explain", "S[i ?", "A=dense:3x3"], "found no assignment"),
        (["explain", "y[i] += A[i,j]", "A=dense:3x3", "--format=nice"], "format 'nice'"),
        (["bench", "run", "kernels", "--only=nothing"], "unknown: nothing"),
        (["bench", "run", "kernels", "--json=no/such/folder/out.json"], "there is no folder"),
    ],
)
def test_bad_input_is_named(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"finchsched {arguments[0]}: ")
    assert problem in err


@pytest.mark.parametrize(
    "arguments",
    [[], ["nothing"], ["explain"], ["bench"], ["bench", "run", "nothing"], ["bench", "run", "kernels", "--repeats=0"]],
)
def test_a_command_line_that_does_not_parse(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: finchsched" in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, expected in ((["--version"], f"finchsched {__version__}\n"), (["--help"], "commands:")):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    assert f"usage: finchsched {name}" in capsys.readouterr().out


def test_bench_runs_one_kernel_on_tiny_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernels, "data_sets", lambda: [DataSet("tiny", lambda: uniform(20, 60))])
    path = tmp_path / "out.json"
    arguments = ["bench", "run", "kernels", "--only", "spmv,add", "--data=tiny", "--repeats=2", "--json", str(path)]
    assert main(arguments) == 0
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert {row["kernel"] for row in rows} == {"spmv", "add"}
    assert {row["status"] for row in rows if row["peer"] == "scipy"} == {"ok"}
    assert "spmv" in capsys.readouterr().out
