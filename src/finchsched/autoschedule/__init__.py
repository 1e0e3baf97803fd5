"""The autoscheduler: fusion, result formats, loop orders, transposed copies."""
