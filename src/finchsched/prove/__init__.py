"""Proofs: facts about integers, laws of operators.  The only package that imports Z3."""
