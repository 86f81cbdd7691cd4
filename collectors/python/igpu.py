# SPDX-License-Identifier: Apache-2.0
"""Load, frequency, power, temperature, memory and processes of Intel GPUs, by the C interface of libigpu (igpu/c.h).

    import igpu

    with igpu.open() as gpu:                    # the first GPU; or igpu.open("card1"), igpu.open("0000:03:00.0")
        now = gpu.read()
        print(now.get("engine.video.busy"))     # 0.42, or why it is missing
        for engine in now.values("engine.busy"):
            if engine.value:
                print(engine.labels["engine"], 100 * engine.value.value, "%")

    for now in igpu.sample(interval=1.0):       # one reading a second
        print(now.get("power.mean"))

Units are base units (seconds, bytes, hertz, watts, celsius); ratios are 0 to 1. fields() lists the names.
"""

import collections.abc
import ctypes
import os
import re
import select
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

# IGPU_LIBRARY names another file, for tests.
_library = ctypes.CDLL(os.environ.get("IGPU_LIBRARY", "libigpu.so.0.1"), use_errno=False)

STATES = ("ok", "permission", "kernel", "hardware", "suspended", "disabled", "failed", "no such name")


class Error(Exception):
    """What the library refuses or cannot do. `code` is an errno, `hint` says what to do about it."""

    def __init__(self, code, message, hint):
        super().__init__(f"{message}; {hint}" if hint else message)
        self.code, self.message, self.hint = code, message, hint


class Value:
    """A value, or why there is none. True if there is one. `reason` is one of STATES, "ok" with a value."""

    __slots__ = ("value", "reason", "os_error")

    def __init__(self, value, reason="ok", os_error=0):
        self.value, self.reason, self.os_error = value, reason, os_error

    def __bool__(self):
        return self.reason == "ok"

    def __float__(self):
        if not self:
            raise ValueError(f"there is no value: {self.reason}")
        return self.value

    def __repr__(self):
        return repr(self.value) if self else f"<{self.reason}>"


class Rows(list):
    """The rows of a value. If there are none, `reason` says why, as in Value."""

    def __init__(self, rows, reason):
        super().__init__(rows)
        self.reason = reason


class Row:
    """Its members are those of the C struct."""

    def __init__(self, members):
        self.__dict__.update(members)

    def __repr__(self):
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


class _Value(Structure):
    _fields_ = [("value", c_double), ("state", c_int32), ("os_error", c_int32)]


# A member of every struct is its size, from which the library knows the members that this file has.
def _struct(name, *fields):
    return type(name, (Structure,), {"_fields_": [("size", c_size_t), *fields]})


def _texts(names):
    return [(name, c_char_p) for name in names.split()]


_error = _struct("igpu_error", ("code", c_int32), ("message", c_char * 512), ("hint", c_char * 512))
_options = _struct("igpu_options", *_texts("sysfs_root procfs_root devfs_root simulate without_collectors"),
                   ("min_window_ns", c_uint64), ("without_processes", c_int32))
_gpu_info = _struct("igpu_gpu_info", *_texts("address card render_node driver kind name"), ("device_id", c_uint32),
                    ("revision", c_int32), ("numa_node", c_int32), ("virtual_function", c_int32))
_summary = _struct("igpu_summary", ("time_ns", c_int64), ("monotonic_ns", c_int64), ("other_users", _Value))
_field = _struct("igpu_field", ("labels", c_char_p), ("value", _Value))
_feature = _struct("igpu_feature", ("name", c_char_p), ("state", c_int32), ("os_error", c_int32), *_texts("cause hint"))


def _declare(name, *arguments, result=ctypes.c_int):
    function = getattr(_library, f"igpu_{name}")
    function.argtypes, function.restype = arguments, result
    return function


_declare("version", result=c_char_p)
_declare("list_gpus", POINTER(_options), POINTER(c_void_p), POINTER(_error))
_declare("list_count", c_void_p, result=c_size_t)
_declare("list_at", c_void_p, c_size_t, POINTER(_gpu_info))
_declare("list_free", c_void_p, result=None)
_declare("open", c_char_p, POINTER(_options), POINTER(c_void_p), POINTER(_error))
_declare("close", c_void_p, result=None)
_declare("read", c_void_p, POINTER(c_void_p), POINTER(_error))
_declare("snapshot_free", c_void_p, result=None)
_declare("summary_of", c_void_p, POINTER(_summary))
_declare("gpu_of", c_void_p, POINTER(_gpu_info))
_declare("get", c_void_p, c_char_p, result=_Value)
_declare("feature_count", c_void_p, POINTER(c_size_t))
_declare("feature_at", c_void_p, c_size_t, POINTER(_feature))
_declare("field_name", c_size_t, result=c_char_p)
_declare("field_unit", c_size_t, result=c_char_p)
_declare("field_count", c_void_p, c_char_p, POINTER(c_size_t))
_declare("field_at", c_void_p, c_char_p, c_size_t, POINTER(_field))
_declare("timer_open", c_void_p, c_uint64, POINTER(c_void_p), POINTER(_error))
_declare("timer_descriptor", c_void_p)
_declare("timer_read", c_void_p, POINTER(c_void_p), POINTER(_error))
_declare("timer_missed", c_void_p, result=c_uint64)
_declare("timer_close", c_void_p, result=None)

_EAGAIN = -11


def _made(struct):
    made = struct()
    made.size = ctypes.sizeof(struct)
    return made


def _call(name, *arguments):
    """Calls a function whose last argument is an igpu_error, and returns its result unless that is an error."""
    error = _made(_error)
    result = getattr(_library, f"igpu_{name}")(*arguments, byref(error))
    if result < 0 and result != _EAGAIN:
        raise Error(-result, error.message.decode(errors="replace"), error.hint.decode(errors="replace"))
    return result


def _value(value):
    return Value(value.value if value.state == 0 else None, STATES[value.state], value.os_error)


def _python(name, value):
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, _Value):
        return _value(value)
    return bool(value) if name == "virtual_function" else value


def _members(struct):
    return {name: _python(name, getattr(struct, name)) for name, _ in struct._fields_[1:]}


def _filled(struct, function, *arguments):
    made = _made(struct)
    result = getattr(_library, f"igpu_{function}")(*arguments, byref(made))
    if result < 0:
        raise Error(-result, f"igpu_{function} failed", "")
    return Row(_members(made))


def _made_options(options):
    made = _made(_options)
    without = options.pop("without_collectors", ())
    made.without_collectors = ",".join(without).encode()
    made.min_window_ns = round(options.pop("min_window", 0) * 1e9)
    made.without_processes = not options.pop("processes", True)
    for name in ("sysfs_root", "procfs_root", "devfs_root", "simulate"):
        value = options.pop(name, None)
        setattr(made, name, os.fsencode(value) if value else None)
    if options:
        raise TypeError(f"unknown options: {', '.join(options)}")
    return made


class Snapshot:
    """One reading of one GPU."""

    def __init__(self, handle):
        self._handle = handle
        summary = _filled(_summary, "summary_of", handle)
        self.time = summary.time_ns / 1e9  # since 1970
        self.monotonic = summary.monotonic_ns / 1e9
        self.other_users = summary.other_users
        self.gpu = _filled(_gpu_info, "gpu_of", handle)

    def __del__(self):
        if getattr(self, "_handle", None):
            _library.igpu_snapshot_free(self._handle)

    def get(self, name):
        """The value of the GPU as a whole: "power.mean", "engine.busy"; with a word in the name that of some rows: "engine.video.busy"."""
        value = _value(_library.igpu_get(self._handle, name.encode()))
        if value.reason == STATES[-1]:
            raise KeyError(name)
        return value

    def values(self, name):
        """All rows of a value, such as "engine.busy", each with `labels`, a dictionary, and `value`. fields() lists the names."""
        if name not in fields():
            raise KeyError(name)
        count = c_size_t()
        state = _library.igpu_field_count(self._handle, name.encode(), byref(count))
        rows = [_filled(_field, "field_at", self._handle, name.encode(), i) for i in range(count.value)]
        for row in rows:
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', row.labels)
            row.labels = {label: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value) for label, value in pairs}
        return Rows(rows, STATES[state])

    @property
    def features(self):
        """By name: what the machine offers, and the cause and the hint where it does not."""
        count = c_size_t()
        _library.igpu_feature_count(self._handle, byref(count))
        rows = [_filled(_feature, "feature_at", self._handle, i) for i in range(count.value)]
        for row in rows:
            row.state = STATES[row.state]
        return {row.name: row for row in rows}


class Gpu:
    """An open GPU. Any thread may read it."""

    def __init__(self, name=None, **options):
        handle = c_void_p()
        _call("open", os.fsencode(name) if name else None, byref(_made_options(options)), byref(handle))
        self._handle = handle

    def read(self):
        """The first reading waits until the GPU has been open for `min_window` seconds (0.1)."""
        snapshot = c_void_p()
        _call("read", self._open(), byref(snapshot))
        return Snapshot(snapshot)

    def close(self):
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            _library.igpu_close(handle)

    def _open(self):
        if not self._handle:
            raise ValueError("the GPU is closed")
        return self._handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    __del__ = close


class Timer(collections.abc.Iterator):
    """Readings at an interval, for select, selectors and asyncio: fileno() is readable when one is due. Iterating waits."""

    def __init__(self, gpu, interval):
        handle, taken = c_void_p(), gpu._open()
        gpu._handle = None  # the timer's from now on
        _call("timer_open", taken, max(0, round(interval * 1e9)), byref(handle))
        self._handle = handle

    def fileno(self):
        return _library.igpu_timer_descriptor(self._open())

    def read(self):
        """A Snapshot, or None if no reading is due."""
        snapshot = c_void_p()
        return None if _call("timer_read", self._open(), byref(snapshot)) == _EAGAIN else Snapshot(snapshot)

    @property
    def missed(self):
        return _library.igpu_timer_missed(self._open())

    def __next__(self):
        while True:
            select.select([self], [], [])
            now = self.read()
            if now:
                return now

    def close(self):
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            _library.igpu_timer_close(handle)

    _open = Gpu._open
    __enter__, __exit__, __del__ = Gpu.__enter__, Gpu.__exit__, close


def fields():
    """The names that Snapshot.values() takes, with their units: {"engine.busy": "ratio"}."""
    known = {}
    while (name := _library.igpu_field_name(len(known))) is not None:
        known[name.decode()] = _library.igpu_field_unit(len(known)).decode()
    return known


def version():
    return _library.igpu_version().decode()


def gpus(**options):
    """The GPUs that i915 and xe drive, without opening them."""
    handle = c_void_p()
    _call("list_gpus", byref(_made_options(options)), byref(handle))
    try:
        return [_filled(_gpu_info, "list_at", handle, i) for i in range(_library.igpu_list_count(handle))]
    finally:
        _library.igpu_list_free(handle)


def open(name=None, **options):  # pylint: disable=redefined-builtin
    """Opens a GPU: "0000:03:00.0", "card1", "/dev/dri/renderD128", ...; the first one without a name.

    Options: sysfs_root, procfs_root, devfs_root, simulate, without_collectors (a list), min_window (seconds), processes (bool)."""
    return Gpu(name, **options)


def sample(name=None, interval=1.0, **options):
    """Endless readings of a GPU."""
    return Timer(Gpu(name, **options), interval)
