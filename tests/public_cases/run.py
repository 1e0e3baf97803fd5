"""Run the cases against one adapter, each case in its own process with a time and memory limit.

  python run.py --adapter pydata_sparse [--only ID,...] [--json out.json]

Outcomes: pass | wrong (value, shape or dtype) | error (unexpected exception) | crash (signal) |
timeout | memory (peak above the case's limit, or MemoryError) | slow | missing (the library or the
adapter does not offer it) | policy (differs from NumPy on a point a library may choose, if it says so).
Exit status 0 when nothing is wrong/error/crash/timeout/memory/slow.
"""

import argparse
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
BAD = ("wrong", "error", "crash", "timeout", "memory", "slow")


def load_adapter(name):
    if name.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
        name = os.path.basename(name)[:-3]
    sys.path.insert(0, os.path.join(HERE, "adapters"))
    return importlib.import_module(name).fs


def rss_mb():
    """Peak resident set of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def differ(got, want, case, path="result"):
    """None when equal, else one line saying how they differ."""
    import numpy as np

    if isinstance(want, dict):
        if not isinstance(got, dict) or set(got) != set(want):
            return f"{path}: keys {sorted(got) if isinstance(got, dict) else type(got)}"
        return next((d for k in want if (d := differ(got[k], want[k], case, f"{path}[{k!r}]"))), None)
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return f"{path}: wanted {len(want)} parts"
        return next((d for i, w in enumerate(want) if (d := differ(got[i], w, case, f"{path}[{i}]"))), None)
    if isinstance(want, (str, bool)) or want is None:
        return None if got == want else f"{path}: got {got!r}, want {want!r}"
    g, w = np.asarray(got), np.asarray(want)
    if g.shape != w.shape:
        return f"{path}: shape {g.shape}, want {w.shape}"
    if case.check_dtype and g.dtype != w.dtype:
        return f"{path}: dtype {g.dtype}, want {w.dtype}"
    if w.dtype.kind in "biu" and g.dtype.kind in "biu":
        ok = bool((g == w).all())
    else:
        ok = bool(np.allclose(g, w, rtol=case.rtol, atol=case.atol, equal_nan=True))
    if not ok:
        gs, ws = (np.array2string(a.ravel()[:6], precision=6) for a in (g, w))
        return f"{path}: got {gs}, want {ws} (first values)"
    return None


def child(adapter, case_id, out):
    from cases import CASES, Raises

    case = next(c for c in CASES if c.id == case_id)
    res = {"id": case_id, "status": "pass", "detail": ""}

    def done():
        res["rss_mb"] = round(rss_mb())
        with open(out, "w") as f:
            json.dump(res, f)

    try:
        lim = case.as_mb * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (lim, lim))
        fs = load_adapter(adapter)
        res["adapter"] = f"{fs.name} {fs.version}"
        want = case.expected()
        base = rss_mb()
        t0 = time.perf_counter()
        try:
            got = case.run(fs)
        except Exception as e:
            res["secs"] = round(time.perf_counter() - t0, 2)
            name = type(e).__name__
            last = traceback.extract_tb(e.__traceback__)[-1]
            res["detail"] = f"{name}: {str(e)[:300]} ({os.path.basename(last.filename)}:{last.lineno})"
            if isinstance(want, Raises):
                res["status"] = "pass" if name in want.names else "error"
            elif name in case.may_raise:
                res["status"] = "pass"
            elif name == "Unsupported":
                res["status"] = "missing"
            elif isinstance(e, MemoryError) or "Unable to allocate" in str(e):
                res["status"] = "memory"
            else:
                res["status"] = "error"
            return done()
        res["secs"] = round(time.perf_counter() - t0, 2)
        if isinstance(want, Raises):
            res.update(status="wrong", detail=f"no error raised; want one of {want.names}")
            return done()
        bad = case.verify(got, want) if case.verify else differ(got, want, case)
        grew = rss_mb() - base
        if bad and bad.startswith("slow"):
            res.update(status="slow", detail=bad)
        elif bad:
            res.update(status="policy" if case.policy else "wrong", detail=bad)
        elif case.max_rss_mb and grew > case.max_rss_mb:
            res.update(status="memory", detail=f"peak grew {grew:.0f} MB, limit {case.max_rss_mb}")
    except BaseException as e:  # the harness, the adapter's import, or the case itself
        res.update(
            status="missing" if type(e).__name__ == "Unsupported" else "error",
            detail=f"outside the case: {type(e).__name__}: {e}",
        )
    done()


def run_one(adapter, case, python):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "r.json")
        env = dict(
            os.environ, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", NUMBA_NUM_THREADS="2", PYTHONWARNINGS="ignore"
        )
        t0 = time.perf_counter()
        p = subprocess.Popen(
            [python, os.path.join(HERE, "run.py"), "--child", case.id, "--adapter", adapter, "--out", out],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
            cwd=d,
        )
        try:
            err = p.communicate(timeout=case.timeout)[1]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)  # the group we started, nothing else
            p.communicate()
            return {"id": case.id, "status": "timeout", "detail": f"over {case.timeout} s", "secs": case.timeout}
        try:
            with open(out) as f:
                r = json.load(f)
        except (OSError, ValueError):
            r = {
                "id": case.id,
                "status": "crash",
                "detail": f"exit {p.returncode}; {err.decode(errors='replace').strip()[-200:]}",
            }
        r["wall"] = round(time.perf_counter() - t0, 2)
        return r


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--adapter", required=True, help="a module in adapters/, or the path of an adapter file")
    ap.add_argument("--only", default="", help="comma-separated case ids")
    ap.add_argument("--json", default="")
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--child", default="")
    ap.add_argument("--out", default="")
    a = ap.parse_args()
    sys.path.insert(0, HERE)
    if a.child:
        return child(a.adapter, a.child, a.out)
    from cases import CASES

    only = set(filter(None, a.only.split(",")))
    todo = [c for c in CASES if not only or c.id in only]
    if a.adapter.endswith(".py"):
        a.adapter = os.path.abspath(a.adapter)
    results = []
    for c in todo:
        r = run_one(a.adapter, c, a.python)
        r.update(category=c.category)
        results.append(r)
        print(f"{r['status']:8} {c.id:24} {r.get('secs', 0):7} s  {r['detail'][:150]}", flush=True)
    tally = {}
    for r in results:
        tally[r["status"]] = tally.get(r["status"], 0) + 1
    print("\n" + ", ".join(f"{k} {v}" for k, v in sorted(tally.items())) + f"  of {len(results)}")
    if a.json:
        with open(a.json, "w") as f:
            json.dump(results, f, indent=1)
    return 1 if any(r["status"] in BAD for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
