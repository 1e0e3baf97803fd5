"""The JSON document, the summary and the printed lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from finchsched.bench.report import (
    GOAL,
    LARGE,
    Row,
    document,
    format_row,
    format_summary,
    header,
    machine,
    summary,
    time_fields,
    write_json,
)
from finchsched.bench.timing import Timing

ROW_KEYS = {
    "kernel", "data", "shape", "nnz", "peer", "status", "checked", "note", "runs", "ratio", "pair_ratio",
    "finch_ms", "finch_min_ms", "finch_max_ms", "finch_kernel_ms", "first_ms", "overhead_us",
    "peer_ms", "peer_min_ms", "peer_max_ms",
}  # fmt: skip


def row(**changed: Any) -> Row:
    plain: dict[str, Any] = {
        "kernel": "spmv",
        "data": "small",
        "shape": (10, 20),
        "nnz": 30,
        "peer": "scipy",
        "status": "ok",
        "checked": True,
    }
    return Row(**plain | changed)


def test_time_fields_are_milliseconds() -> None:
    fields = time_fields(Timing((0.001, 0.002, 0.006)), Timing((0.004, 0.004, 0.004)))
    timed = row(**fields)
    assert (timed.finch_ms, timed.finch_min_ms, timed.finch_max_ms) == pytest.approx((2.0, 1.0, 6.0))
    assert (timed.ratio, timed.pair_ratio, timed.runs) == (0.5, 0.5, 3)


def test_time_fields_of_one_side() -> None:
    fields = time_fields(Timing((0.001,)), None)
    assert set(fields) == {"finch_ms", "finch_min_ms", "finch_max_ms", "runs"}
    assert time_fields(None, None) == {}


def test_summary_per_peer_and_best() -> None:
    rows = [
        row(ratio=0.5),
        row(peer="hand", ratio=1.0),
        row(data="large", ratio=2.0),
        row(data="large", peer="hand", ratio=0.25),
        row(data="broken", ratio=100.0, status="wrong"),
        row(data="skipped", status="skipped"),
        row(kernel="add", ratio=0.7),
    ]
    found = {(entry["kernel"], entry["peer"]): (entry["ratio"], entry["data_sets"]) for entry in summary(rows)}
    assert list(found) == [("spmv", "scipy"), ("spmv", "hand"), ("spmv", "best"), ("add", "scipy"), ("add", "best")]
    assert found["spmv", "scipy"] == (pytest.approx(1.0), 2)
    assert found["spmv", "hand"] == (pytest.approx(0.5), 2)
    assert found["spmv", "best"] == (pytest.approx(2**0.5), 2)


def test_summary_counts_large_data_sets_where_there_are_any() -> None:
    rows = [
        row(ratio=8.0, nnz=LARGE - 1, finch_kernel_ms=9.0, peer_ms=1.0),
        row(data="a", ratio=0.5, nnz=LARGE, finch_kernel_ms=1.0, peer_ms=4.0),
        row(data="b", ratio=2.0, nnz=10 * LARGE, finch_kernel_ms=4.0, peer_ms=4.0),
    ]
    found = summary(rows)[0]
    assert (found["data_sets"], found["ratio"]) == (2, pytest.approx(1.0))
    assert found["kernel_ratio"] == pytest.approx(0.5)
    assert summary(rows[:1])[0]["ratio"] == pytest.approx(8.0)


def test_document_schema(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    rows = [row(**time_fields(Timing((0.1,)), Timing((0.2,)))), row(status="skipped", checked=False, note="too big")]
    write_json(path, document(rows, [{"kernel": "spgemm", "peak_mib": 1.5}], {"repeats": 15}))
    read = json.loads(path.read_text())
    assert set(read) == {"schema", "suite", "machine", "settings", "goal", "rows", "summary", "memory"}
    assert read["schema"] == 2
    assert read["goal"] == GOAL
    assert [set(one) for one in read["rows"]] == [ROW_KEYS, ROW_KEYS]
    assert read["rows"][0]["shape"] == [10, 20]
    assert read["rows"][1]["finch_ms"] is None
    assert read["memory"] == [{"kernel": "spgemm", "peak_mib": 1.5}]
    assert list(tmp_path.iterdir()) == [path]


def test_nan_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"rows": [float("nan")]})
    assert list(tmp_path.iterdir()) == []


def test_machine_identity() -> None:
    found = machine()
    assert {"cpu", "cores", "usable_cores", "python", "numpy", "scipy", "numba"} <= set(found)
    assert found["cores"] >= found["usable_cores"] >= 1
    assert found["numpy"].count(".") >= 2


def test_lines() -> None:
    timed = row(**time_fields(Timing((0.001, 0.002, 0.003)), Timing((0.004, 0.004, 0.004))), overhead_us=12.34)
    line = format_row(timed)
    assert line.startswith("spmv       small")
    assert "1..3" in line
    assert line.endswith("ok; 12.3 us beyond the kernel")
    assert header().index("status") == line.index("ok; ")
    assert format_row(row(status="skipped", note="too big")).endswith("skipped; too big")
    assert "unchecked" in format_row(row(checked=False))


def test_summary_text() -> None:
    assert format_summary([row(status="skipped")]) == ""
    assert format_summary([row(ratio=0.5)]).splitlines()[1].split()[:3] == ["spmv", "scipy", "0.50"]
