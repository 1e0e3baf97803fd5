"""The final oracle of the test-suite: nested Python loops over index tuples and a stored-mask."""
