"""Rewrite passes over Logic IR and Loop IR, and lowering to Kernel IR."""
