"""Reading what `torch.save` wrote without running it: a pickle is a program, and here its steps are only looked at.

Plain data, tensors and `Record`s (the attributes of an object, by the name of its class) come out; a step that would
call anything else is an error. Both layouts of `torch.save` are read, the zip archive and the older one. Sources: the
opcodes in Python's `pickletools`, and `save`, `_legacy_save` and `_rebuild_tensor_v2` of torch.
"""

import io
import pickletools
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

from elmo_bench.base.reading import reader, reading

DTYPES = {
    "torch FloatStorage": torch.float32,
    "torch HalfStorage": torch.float16,
    "torch BFloat16Storage": torch.bfloat16,
    "torch DoubleStorage": torch.float64,
    "torch LongStorage": torch.int64,
    "torch IntStorage": torch.int32,
}
LEGACY = 0x1950A86A20F9469CFC6C  # torch's magic number


class Name(NamedTuple):
    """A class or function: "module attribute"."""

    name: str


class Storage(NamedTuple):
    """Numbers of a tensor, under a key."""

    key: str
    dtype: torch.dtype
    size: int  # how many numbers


class View(NamedTuple):
    """A tensor whose numbers are not read yet."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(eq=False)
class Record:
    """An object: the name of its class, and its attributes."""

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)


@reader
def read_saved(path: Path, what: str) -> Any:
    """The value in a file of `torch.save`, with the tensors of its mappings; `what` says what it should be.

    Raises UserError for a damaged file, and for anything that is not plain data, tensors and known records.
    """
    with reading(path, what), path.open("rb") as file:
        return _from_zip(file) if zipfile.is_zipfile(file) else _from_legacy(file)


def _from_zip(file: IO[bytes]) -> Any:
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if len(names) != 1:
            raise ValueError("no data.pkl")
        folder = names[0].removesuffix("data.pkl")
        storages: dict[str, Storage] = {}
        value = _value(io.BytesIO(archive.read(names[0])), storages)
        return _with_tensors(value, {key: bytearray(archive.read(f"{folder}data/{key}")) for key in storages})


def _from_legacy(file: IO[bytes]) -> Any:
    file.seek(0)
    if _value(file) != LEGACY:
        raise ValueError("not a file of torch.save")
    _value(file)  # the version of the protocol
    _value(file)  # sizes and order of bytes on the machine that wrote it
    storages: dict[str, Storage] = {}
    value = _value(file, storages)
    numbers: dict[str, bytearray] = {}
    for key in _of(list, _value(file)):
        (size,) = struct.unpack("<q", file.read(8))
        if size != storages[key].size:
            raise ValueError(f"{size} numbers, expected {storages[key].size}")
        numbers[key] = bytearray(file.read(size * storages[key].dtype.itemsize))
    return _with_tensors(value, numbers)


def _with_tensors(value: Any, numbers: dict[str, bytearray]) -> Any:
    """The value with a tensor in the place of each view in its mappings."""
    if isinstance(value, View):
        return _tensor(value, numbers[value.storage.key])
    if isinstance(value, dict):
        return {key: _with_tensors(item, numbers) for key, item in value.items()}
    return value


def _tensor(view: View, numbers: bytearray) -> Tensor:
    """A tensor in the memory of these numbers, which has to be contiguous."""
    expected, size = [], 1
    for length in reversed(view.shape):
        expected.append(size)
        size *= length
    whole = all(type(length) is int and length >= 0 for length in view.shape) and type(view.offset) is int
    if not whole or view.stride != tuple(reversed(expected)) or view.offset < 0:
        raise ValueError("a tensor whose numbers are not one after another")
    dtype = view.storage.dtype
    if len(numbers) < (view.offset + size) * dtype.itemsize:
        raise ValueError("a tensor with fewer numbers than its shape")
    if not size:
        return torch.empty(view.shape, dtype=dtype)
    flat = torch.frombuffer(numbers, dtype=dtype, count=size, offset=view.offset * dtype.itemsize)
    return flat.reshape(view.shape)


MARK = object()
PLAIN = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES",
    "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING",
}  # fmt: skip
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
NOTHING = {"PROTO", "FRAME"}


def _value(  # noqa: PLR0912, PLR0915  a case for each kind of step
    file: Any, storages: dict[str, Storage] | None = None
) -> Any:
    """The value of the pickle at the position of a file, which is read up to its end; adds its storages by key."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}

    def to_mark() -> list[Any]:
        place = next(n for n in range(len(stack) - 1, -1, -1) if stack[n] is MARK)
        items = stack[place + 1 :]
        del stack[place:]
        return items

    argument: Any
    for opcode, argument, _ in pickletools.genops(file):
        match opcode.name:
            case name if name in PLAIN:
                stack.append(argument)
            case name if name in CONSTANTS:
                stack.append(CONSTANTS[name])
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "EMPTY_TUPLE":
                stack.append(())
            case "MARK":
                stack.append(MARK)
            case "TUPLE":
                stack.append(tuple(to_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3" as name:
                count = int(name[-1])
                stack[-count:] = [tuple(stack[-count:])]
            case "APPEND" | "APPENDS" as name:
                items = [stack.pop()] if name == "APPEND" else to_mark()
                _of(list, stack[-1]).extend(items)
            case "SETITEM" | "SETITEMS" as name:
                items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else to_mark()
                _of(dict, stack[-1]).update(zip(items[::2], items[1::2], strict=True))
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "MEMOIZE":
                memo[len(memo)] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "GLOBAL":
                stack.append(Name(argument))
            case "STACK_GLOBAL":
                stack[-2:] = [Name(f"{stack[-2]} {stack[-1]}")]
            case "BINPERSID":
                storage = _storage(*stack.pop())
                stack.append(storage)
                if storages is not None:
                    storages[storage.key] = storage
            case "REDUCE" | "NEWOBJ":
                arguments = stack.pop()
                stack.append(_made(_of(Name, stack.pop()).name, *_of(tuple, arguments)))
            case "BUILD":
                state = stack.pop()
                if isinstance(stack[-1], Record):
                    stack[-1].attributes.update(_of(dict, state))
                else:
                    _of(dict, stack[-1])  # attributes of a mapping, such as the versions of modules, are left out
            case "STOP":
                return stack.pop()
            case name if name not in NOTHING:
                raise ValueError(f"its pickle has the step {name}")
    raise EOFError("its pickle has no end")


def _made(name: str, *arguments: Any) -> Any:
    """The result of a call in the pickle, of the few that are known. Raises ValueError for any other."""
    match name:
        case "torch._utils _rebuild_tensor_v2" | "torch._utils _rebuild_tensor":
            storage, offset, shape, stride = arguments[:4]
            return View(_of(Storage, storage), offset, _of(tuple, shape), _of(tuple, stride))
        case "torch._utils _rebuild_parameter":
            return _of(View, arguments[0])
        case "collections OrderedDict" if arguments:  # of Python 2
            return dict(_of(list, arguments[0]))
        case "collections OrderedDict" | "collections defaultdict":
            return {}
        case "_codecs encode":  # bytes, in the older protocol
            return _of(str, arguments[0]).encode("latin1")
        case "flair.data Dictionary":
            return Record(name)
    raise ValueError(f"its pickle calls {name:.100}")


def _storage(kind: str, dtype: Name, key: str, _device: str, count: int, *_: Any) -> Storage:
    known = DTYPES.get(_of(Name, dtype).name.replace("torch.cuda ", "torch "))  # older torch names the device, too
    if kind != "storage" or known is None or type(count) is not int or count < 0:
        raise ValueError("numbers of an unknown type")
    return Storage(_of(str, key), known, count)


def _of(kind: type, value: Any) -> Any:
    """The value, which has to be of this type."""
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__}, expected {kind.__name__}")
    return value
