"""The compiled library against NumPy, SciPy and plain loops."""
