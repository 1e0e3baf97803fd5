"""Interpreters: the meaning of every IR, against which what is compiled is tested."""

from finchsched.interpret.kernel import OpCount, run_kernel

__all__ = ["OpCount", "run_kernel"]
