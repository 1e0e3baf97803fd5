"""Random small arrays, operations on them, and what these must give: the parts of `fuzz_elementwise`."""
