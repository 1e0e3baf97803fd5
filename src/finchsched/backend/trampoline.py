"""Native kernels as Python functions: a function in LLVM IR that CPython calls directly (METH_FASTCALL).

It reads the arguments into slots (`finchsched.backend.adaptor`), releases the interpreter lock and calls the kernel:
about 0.1 microseconds for a dozen arrays, where asking each array for its address in Python takes ten.  It reads fields
of CPython's and NumPy's objects, at places that `layout_is_known` compares with what the objects themselves say.  Where
they are elsewhere (PyPy, free-threaded builds), `slot_call` does the same through ctypes.
"""

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from finchsched.errors import KernelError

__all__ = ["TRAMPOLINE", "TRAMPOLINE_IR", "layout_is_known", "pack_slots", "slot_call", "trampoline_call"]

TRAMPOLINE = "finchsched_call"
"""The symbol of the trampoline."""

_TYPE, _DATA, _RANK, _SHAPE = 8, 16, 24, 32
"""Byte offsets in an ndarray: its class, the address of its data, the number of axes (32 bits), its extents."""

TRAMPOLINE_IR = f"""
; self is a bytes object: kernel address, address of the class ndarray, number of arguments, their kinds.
@failed = private constant [30 x i8] c"a compiled kernel has failed \\00"
@PyExc_SystemError = external global ptr

declare ptr @PyBytes_AsString(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyLong_AsUnsignedLongLongMask(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare double @PyFloat_AsDouble(ptr)
declare {{ double, double }} @PyComplex_AsCComplex(ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @Py_BuildValue(ptr)

define ptr @{TRAMPOLINE}(ptr %self, ptr %arguments, i64 %found) {{
entry:
  %spec = call ptr @PyBytes_AsString(ptr %self)
  %kernel = load ptr, ptr %spec, align 1
  %class.at = getelementptr i8, ptr %spec, i64 8
  %class = load ptr, ptr %class.at, align 1
  %count.at = getelementptr i8, ptr %spec, i64 16
  %count = load i64, ptr %count.at, align 1
  %kinds = getelementptr i8, ptr %spec, i64 24
  %room = shl i64 %count, 1
  %slots = alloca i64, i64 %room
  %complete = icmp eq i64 %found, %count
  br i1 %complete, label %argument, label %refuse

argument:
  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]
  %slot = phi ptr [ %slots, %entry ], [ %slot.next, %next ]
  %object.at = getelementptr ptr, ptr %arguments, i64 %n
  %object = load ptr, ptr %object.at
  %kind.at = getelementptr i8, ptr %kinds, i64 %n
  %kind = load i8, ptr %kind.at
  %second = getelementptr i64, ptr %slot, i64 1
  switch i8 %kind, label %refuse [
    i8 {ord("a")}, label %array
    i8 {ord("i")}, label %signed
    i8 {ord("u")}, label %unsigned
    i8 {ord("b")}, label %truth
    i8 {ord("f")}, label %float
    i8 {ord("c")}, label %complex
  ]

array:
  %own.at = getelementptr i8, ptr %object, i64 {_TYPE}
  %own = load ptr, ptr %own.at
  %same = icmp eq ptr %own, %class
  br i1 %same, label %ndarray, label %other

other:
  %subclass = call i32 @PyType_IsSubtype(ptr %own, ptr %class)
  %is.array = icmp ne i32 %subclass, 0
  br i1 %is.array, label %ndarray, label %refuse

ndarray:
  %rank.at = getelementptr i8, ptr %object, i64 {_RANK}
  %rank = load i32, ptr %rank.at
  %flat = icmp eq i32 %rank, 1
  br i1 %flat, label %buffer, label %refuse

buffer:
  %data.at = getelementptr i8, ptr %object, i64 {_DATA}
  %data = load ptr, ptr %data.at
  store ptr %data, ptr %slot
  %shape.at = getelementptr i8, ptr %object, i64 {_SHAPE}
  %shape = load ptr, ptr %shape.at
  %length = load i64, ptr %shape
  store i64 %length, ptr %second
  br label %next

signed:
  %signed.value = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %signed.value, ptr %slot
  br label %next

unsigned:
  %unsigned.value = call i64 @PyLong_AsUnsignedLongLongMask(ptr %object)
  store i64 %unsigned.value, ptr %slot
  br label %next

truth:
  %truth.value = call i32 @PyObject_IsTrue(ptr %object)
  %truth.wide = sext i32 %truth.value to i64
  store i64 %truth.wide, ptr %slot
  br label %next

float:
  %float.value = call double @PyFloat_AsDouble(ptr %object)
  store double %float.value, ptr %slot
  br label %next

complex:
  %complex.value = call {{ double, double }} @PyComplex_AsCComplex(ptr %object)
  %real = extractvalue {{ double, double }} %complex.value, 0
  %imaginary = extractvalue {{ double, double }} %complex.value, 1
  store double %real, ptr %slot
  store double %imaginary, ptr %second
  br label %next

next:
  %taken = phi i64 [ 2, %buffer ], [ 1, %signed ], [ 1, %unsigned ], [ 1, %truth ], [ 1, %float ], [ 2, %complex ]
  %slot.next = getelementptr i64, ptr %slot, i64 %taken
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, %count
  br i1 %more, label %argument, label %check

check:
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %run, label %raise

run:
  %thread = call ptr @PyEval_SaveThread()
  %status = call i64 %kernel(ptr %slots)
  call void @PyEval_RestoreThread(ptr %thread)
  %done = icmp eq i64 %status, 0
  br i1 %done, label %return, label %failure

return:
  %none = call ptr @Py_BuildValue(ptr @nothing)
  ret ptr %none

failure:
  %system.error = load ptr, ptr @PyExc_SystemError
  call void @PyErr_SetString(ptr %system.error, ptr @failed)
  ret ptr null

refuse:
  %ignored = call i32 @PyErr_BadArgument()
  ret ptr null

raise:
  ret ptr null
}}

@nothing = private constant [1 x i8] zeroinitializer
"""


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL = 0x80
_methods: dict[int, _MethodDef] = {}
"""The definition of the method at each address: functions keep pointers to it."""


def layout_is_known() -> bool:
    """Whether arrays have their fields where the trampoline reads them."""
    if not hasattr(ctypes, "pythonapi"):
        return False
    probe = np.zeros(3, np.int8)[1:]
    base, word = id(probe), ctypes.sizeof(ctypes.c_void_p)
    if word != 8 or type(probe).__basicsize__ < _SHAPE + word:
        return False

    def at(address: int) -> int:
        return ctypes.c_uint64.from_address(address).value

    rank = ctypes.c_int32.from_address(base + _RANK).value
    found = (at(base + _TYPE), at(base + _DATA), rank)
    return found == (id(np.ndarray), probe.ctypes.data, 1) and at(at(base + _SHAPE)) == 2


def trampoline_call(trampoline: int, kernel: int, kinds: bytes) -> Callable[..., None]:
    """The kernel at address `kernel` as a function of arguments of these kinds, through the trampoline at its address.

    Called with other kinds of arguments, or another number of them, it raises TypeError.  Element types and
    contiguity of arrays are the caller's to check.
    """
    method = _methods.get(trampoline)
    if method is None:
        method = _methods[trampoline] = _MethodDef(b"kernel", trampoline, _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    spec = struct.pack("=QQQ", kernel, id(np.ndarray), len(kinds)) + kinds
    function: Callable[..., None] = make(ctypes.addressof(method), spec, None)
    return function


def slot_call(kernel: int, kinds: bytes) -> Callable[..., None]:
    """As `trampoline_call`, through ctypes: correct wherever ctypes is, and slower."""
    native = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(kernel)

    def call(*arguments: Any) -> None:
        slots = pack_slots(kinds, arguments)
        if native(slots.ctypes.data):
            raise KernelError("a compiled kernel has failed")

    return call


def pack_slots(kinds: bytes, arguments: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The slots for these arguments.  Raises TypeError where they are of another kind or number."""
    if len(arguments) != len(kinds):
        raise TypeError(f"a kernel takes {len(kinds)} arguments, found {len(arguments)}")
    packed = b"".join(_pack(chr(kind), argument) for kind, argument in zip(kinds, arguments, strict=True))
    return np.frombuffer(packed, np.uint64)


def _pack(kind: str, argument: Any) -> bytes:
    match kind:
        case "a":
            if not isinstance(argument, np.ndarray) or argument.ndim != 1:
                raise TypeError("a kernel takes flat arrays as buffers")
            return struct.pack("=QQ", argument.ctypes.data, len(argument))
        case "f":
            return struct.pack("=d", argument)
        case "c":
            return struct.pack("=dd", complex(argument).real, complex(argument).imag)
        case "b":
            return struct.pack("=q", bool(argument))
        case _:
            return (index(argument) % (1 << 64)).to_bytes(8, sys.byteorder)
