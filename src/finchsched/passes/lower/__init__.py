"""Lowering of Loop IR to Kernel IR through looplets."""
