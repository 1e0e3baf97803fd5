"""Rearranging operations, a file per family; `nodes` makes their graph nodes, `methods` is what arrays inherit."""
