"""Storage: levels, tensors as flat buffers, and what a fiber looks like to a loop."""
