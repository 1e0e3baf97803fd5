"""Element types and operators as data."""
