"""Nodes of every IR, with printers, parsers and validators."""
