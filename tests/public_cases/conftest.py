"""The runner, its cases and its adapters are programs of their own; only test_public_cases.py is collected."""

collect_ignore = ["adapters", "cases.py", "run.py"]
