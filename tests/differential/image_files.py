"""Small readers of the image files of the data folder, enough for what is there."""

import gzip
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHANNELS = {0: 1, 2: 3, 6: 4}


def read_image(path: Path, kind: str) -> NDArray[Any]:
    """The samples of a file whose format the manifest calls `kind`."""
    match kind:
        case "idx":
            return _read_idx(gzip.decompress(path.read_bytes()))
        case "npz":
            with np.load(path) as loaded:
                images: NDArray[Any] = loaded["images"]
            return images
        case "csv":
            return np.loadtxt(path, delimiter=",", dtype=np.int64)[:, :64].reshape(-1, 8, 8)
        case "png":
            return _read_png(path.read_bytes())
    raise ValueError(f"unknown kind {kind}")


def _read_idx(data: bytes) -> NDArray[np.uint8]:
    """Big-endian: two zeros, 8 for bytes, the number of axes, the extents, the bytes."""
    zeros, kind, rank = struct.unpack_from(">HBB", data)
    assert (zeros, kind) == (0, 8)
    shape = struct.unpack_from(f">{rank}I", data, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _read_png(data: bytes) -> NDArray[np.uint8]:
    """8-bit samples, no palette, no interlacing; (height, width), or (height, width, channels) of several."""
    at, packed, header = 8, b"", b""
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        chunk = data[at + 8 : at + 8 + length]
        header = chunk if name == b"IHDR" else header
        packed += chunk if name == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    assert (depth, interlaced) == (8, 0)
    channels = _CHANNELS[colour]
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    image = np.zeros((height + 1, width + 1, channels), np.int64)  # with a row and a column of zeros before the first
    for row, line in enumerate(lines, 1):
        _unfilter(int(line[0]), line[1:].reshape(width, channels).astype(np.int64), image[row - 1], image[row])
    samples = image[1:, 1:].astype(np.uint8)
    return samples[:, :, 0] if channels == 1 else samples


def _unfilter(kind: int, line: NDArray[np.int64], above: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    match kind:
        case 0:
            out[1:] = line
        case 1:
            out[1:] = np.cumsum(line, axis=0) % 256
        case 2:
            out[1:] = (line + above[1:]) % 256
        case _:
            for channel in range(line.shape[1]):
                left, above_line = 0, above[:, channel].tolist()
                for x, value in enumerate(line[:, channel].tolist()):
                    corner, up = above_line[x : x + 2]
                    guess = (left + up) // 2 if kind == 3 else _paeth(left, up, corner)
                    left = (value + guess) % 256
                    out[x + 1, channel] = left


def _paeth(left: int, up: int, corner: int) -> int:
    """Whichever of the three is nearest to left + up - corner, the first one of equals."""
    from_left, from_up, from_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if from_left <= from_up and from_left <= from_corner:
        return left
    return up if from_up <= from_corner else corner
