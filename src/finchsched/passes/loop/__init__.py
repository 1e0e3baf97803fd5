"""Passes from Logic IR to Loop IR."""
