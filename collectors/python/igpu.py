# SPDX-License-Identifier: Apache-2.0
"""Load, frequency, power, temperature, memory and processes of Intel GPUs, by the C interface of libigpu (igpu/c.h).

    import igpu

    with igpu.open() as gpu:                    # the first GPU; or igpu.open("card1"), igpu.open("0000:03:00.0")
        now = gpu.read()
        print(now.busy("video"))                # 0.42, or why it is missing
        for engine in now.engines:
            if engine.busy:
                print(engine.name, 100 * engine.busy.value, "%")

    for now in igpu.sample(interval=1.0):       # one reading a second
        print(now.power("gpu"))

Units are base units (seconds, bytes, hertz, watts, celsius); ratios are 0 to 1. Names of rows and members are those of igpu/c.h.
"""

import collections.abc
import ctypes
import os
import re
import select
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

# IGPU_LIBRARY names another file, for tests.
_library = ctypes.CDLL(os.environ.get("IGPU_LIBRARY", "libigpu.so.0.1"), use_errno=False)

STATES = ("ok", "permission", "kernel", "hardware", "suspended", "disabled", "failed")
ENGINE_CLASSES = ("render", "copy", "video", "video_enhance", "compute")


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
    """A table of a snapshot. If it has no rows, `reason` says why, as in Value."""

    def __init__(self, rows, reason):
        super().__init__(rows)
        self.reason = reason


class Row:
    """A row of a table; its members are those of the C struct."""

    def __init__(self, members):
        self.__dict__.update(members)

    def __repr__(self):
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


class _Value(Structure):
    _fields_ = [("value", c_double), ("state", c_int32), ("os_error", c_int32)]


# A member of every struct is its size, from which the library knows the members that this file has.
def _struct(name, *fields):
    return type(name, (Structure,), {"_fields_": [("size", c_size_t), *fields]})


def _values(names):
    return [(name, _Value) for name in names.split()]


def _texts(names):
    return [(name, c_char_p) for name in names.split()]


_by_class = _Value * len(ENGINE_CLASSES)
_error = _struct("igpu_error", ("code", c_int32), ("message", c_char * 512), ("hint", c_char * 512))
_options = _struct("igpu_options", *_texts("sysfs_root procfs_root devfs_root simulate without_collectors"),
                   ("min_window_ns", c_uint64), ("without_processes", c_int32))
_gpu_info = _struct("igpu_gpu_info", *_texts("address card render_node driver kind name"), ("device_id", c_uint32),
                    ("revision", c_int32), ("numa_node", c_int32), ("virtual_function", c_int32))
_summary = _struct("igpu_summary", ("time_ns", c_int64), ("monotonic_ns", c_int64),
                   *_values("suspended hang_captured interrupts other_users"))
_process_memory = _struct("igpu_process_memory", *_texts("region state"), ("bytes", c_double))
_field = _struct("igpu_field", ("labels", c_char_p), ("value", _Value))
_tables = {
    "engine": _struct("igpu_engine", ("name", c_char_p), ("engine_class", c_int32), ("gt", c_int32), ("from_fdinfo", c_int32),
                      *_values("busy wait sema busy_time")),
    "class_load": _struct("igpu_class_load", ("engine_class", c_int32), ("engines", c_uint32), *_values("busy wait sema")),
    "clock": _struct("igpu_clock", ("gt", c_uint32),
                     *_values("actual requested mean_actual mean_requested min max boost rp0 rp1 rpn rpe rpa")),
    "throttling": _struct("igpu_throttling", ("gt", c_uint32), ("limited", c_int32), *_texts("reasons known")),
    "residency": _struct("igpu_residency", ("gt", c_uint32), *_values("ratio time")),
    "power_domain": _struct("igpu_power_domain", *_texts("domain source"), *_values("mean energy")),
    "power_limit": _struct("igpu_power_limit", *_texts("domain limit"), ("watts", c_double)),
    "sensor": _struct("igpu_sensor", ("name", c_char_p), ("celsius", c_double)),
    "fan": _struct("igpu_fan", ("name", c_char_p), ("rpm", c_double)),
    "voltage": _struct("igpu_voltage", ("domain", c_char_p), ("volts", c_double)),
    "memory_region": _struct("igpu_memory_region", ("name", c_char_p), *_values("capacity used")),
    "bandwidth": _struct("igpu_bandwidth", ("direction", c_char_p), ("rate", _Value), ("total", c_double)),
    "pcie_link": _struct("igpu_pcie_link", *_values("speed max_speed width max_width")),
    "process": _struct("igpu_process", ("pid", c_uint32), ("comm", c_char_p), ("busy", _by_class), ("busy_time", _by_class),
                       *_values("clients cpu_time resident_memory virtual_memory"),
                       *_texts("user cgroup container_id pod_uid systemd_unit"), ("memory_rows", c_size_t)),
    "feature": _struct("igpu_feature", ("name", c_char_p), ("state", c_int32), ("os_error", c_int32), *_texts("cause hint")),
}


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
_declare("busy", c_void_p, ctypes.c_int, result=_Value)
_declare("frequency", c_void_p, c_uint32, result=_Value)
_declare("power", c_void_p, c_char_p, result=_Value)
_declare("temperature", c_void_p, c_char_p, result=_Value)
for _name, _row in _tables.items():
    _declare(f"{_name}_count", c_void_p, POINTER(c_size_t))
    _declare(f"{_name}_at", c_void_p, c_size_t, POINTER(_row))
_declare("process_memory_at", c_void_p, c_size_t, c_size_t, POINTER(_process_memory))
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
    if isinstance(value, _by_class):
        return {engine_class: _value(value[i]) for i, engine_class in enumerate(ENGINE_CLASSES)}
    if name == "engine_class":
        return ENGINE_CLASSES[value]
    if name in ("limited", "from_fdinfo", "virtual_function"):
        return bool(value)
    return value


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
        self.suspended, self.hang_captured = summary.suspended, summary.hang_captured
        self.interrupts, self.other_users = summary.interrupts, summary.other_users
        self.gpu = _filled(_gpu_info, "gpu_of", handle)

    def __del__(self):
        if getattr(self, "_handle", None):
            _library.igpu_snapshot_free(self._handle)

    def busy(self, engine_class):
        """The mean over the engines of a class, one of ENGINE_CLASSES."""
        return _value(_library.igpu_busy(self._handle, ENGINE_CLASSES.index(engine_class)))

    def frequency(self, gt=0):
        return _value(_library.igpu_frequency(self._handle, gt))

    def power(self, domain):
        return _value(_library.igpu_power(self._handle, domain.encode()))

    def temperature(self, sensor):
        return _value(_library.igpu_temperature(self._handle, sensor.encode()))

    def _rows(self, table):
        count = c_size_t()
        state = getattr(_library, f"igpu_{table}_count")(self._handle, byref(count))
        return Rows([_filled(_tables[table], f"{table}_at", self._handle, i) for i in range(count.value)], STATES[state])

    def values(self, name):
        """The values of a field, such as "engine.busy": rows with `labels`, a dictionary, and `value`. fields() lists the names."""
        if name not in fields():
            raise KeyError(name)
        count = c_size_t()
        state = _library.igpu_field_count(self._handle, name.encode(), byref(count))
        rows = [_filled(_field, "field_at", self._handle, name.encode(), i) for i in range(count.value)]
        for row in rows:
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', row.labels)
            row.labels = {label: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value) for label, value in pairs}
        return Rows(rows, STATES[state])

    engines = property(lambda self: self._rows("engine"))
    engine_classes = property(lambda self: self._rows("class_load"))
    frequencies = property(lambda self: self._rows("clock"))
    rc6 = property(lambda self: self._rows("residency"))
    power_domains = property(lambda self: self._rows("power_domain"))
    power_limits = property(lambda self: self._rows("power_limit"))
    temperatures = property(lambda self: self._rows("sensor"))
    fans = property(lambda self: self._rows("fan"))
    voltages = property(lambda self: self._rows("voltage"))
    memory = property(lambda self: self._rows("memory_region"))
    memory_bandwidth = property(lambda self: self._rows("bandwidth"))

    @property
    def throttling(self):
        rows = self._rows("throttling")
        for row in rows:
            row.reasons, row.known = (text.split(",") if text else [] for text in (row.reasons, row.known))
        return rows

    @property
    def pcie(self):
        """One row, or none."""
        return self._rows("pcie_link")

    @property
    def processes(self):
        rows = self._rows("process")
        for i, row in enumerate(rows):
            row.memory = [_filled(_process_memory, "process_memory_at", self._handle, i, k) for k in range(row.memory_rows)]
        return rows

    @property
    def features(self):
        """By name: what the machine offers, and the cause and the hint where it does not."""
        rows = self._rows("feature")
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
