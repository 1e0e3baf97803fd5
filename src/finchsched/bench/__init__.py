"""Benchmarks: generated and real matrices, alternating timers, peers, reports."""

from finchsched.bench.kernels import run_suite
from finchsched.bench.report import Row
from finchsched.bench.timing import Timing, alternate

__all__ = ["Row", "Timing", "alternate", "run_suite"]
