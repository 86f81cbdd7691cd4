# SPDX-License-Identifier: Apache-2.0
"""The Python bindings: the same structs as igpu/c.h, and readings of simulated machines.  python_bindings.py LIBRARY SOURCE"""

import ctypes
import os
import re
import select
import sys
import time
import unittest

os.environ["IGPU_LIBRARY"] = sys.argv[1]
SOURCE = sys.argv[2]
sys.path.insert(0, f"{SOURCE}/collectors/python")
import igpu  # noqa: E402

C_TYPES = {"size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
           "uint64_t": ctypes.c_uint64, "double": ctypes.c_double, "const char*": ctypes.c_char_p, "igpu_value": igpu._Value}
CONSTANTS = {"512": 512}


def header():
    with open(f"{SOURCE}/collectors/include/igpu/c.h") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)


def c_structs():
    """Names and types of the members of each struct."""
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", header(), re.S):
        members = []
        for declaration in filter(None, (d.strip() for d in body.split(";"))):
            kind, star, names = re.match(r"((?:const )?\w+)(\*?) (.*)", declaration, re.S).groups()
            for member in names.split(","):
                pointer, word, length = re.match(r"\s*(\*?)(\w+)(?:\[(\w+)\])?$", member).groups()
                members.append((word, kind + (star or pointer), CONSTANTS[length] if length else None))
        structs[name] = members
    return structs


class Bindings(unittest.TestCase):
    def test_structs_are_those_of_the_header(self):
        theirs = c_structs()
        ours = {struct.__name__: struct for struct in (igpu._error, igpu._options, igpu._gpu_info, igpu._summary, igpu._field, igpu._feature)}
        ours["igpu_value"] = igpu._Value
        self.assertEqual(set(theirs), set(ours))
        for name, members in theirs.items():
            expected = []
            for member, kind, length in members:
                base = ctypes.c_char if kind == "char" else C_TYPES[kind]
                expected.append((member, ctypes.sizeof(base) * (length or 1), base if not length else base * length))
            got = [(member, ctypes.sizeof(kind), kind) for member, kind in ours[name]._fields_]
            self.assertEqual(got, expected, name)

    def test_functions_are_those_of_the_header(self):
        text = header()
        declared = set(re.findall(r"^IGPU_API [\w\s*]+?[\s*](igpu_\w+)\(", text, re.M))
        self.assertGreater(len(declared), 20)
        for name in declared:
            self.assertTrue(getattr(igpu._library, name, None), name)
        with open(f"{SOURCE}/collectors/python/igpu.py") as f:
            used = {f"igpu_{name}" for name in re.findall(r'^_declare\("(\w+)"', f.read(), re.M)}
        self.assertLessEqual(used, declared)

    def test_states_have_their_numbers(self):
        names = {"NO_SUCH_NAME": "no such name", "OK": "ok", "NO_PERMISSION": "permission", "NOT_IN_KERNEL": "kernel", "NOT_IN_HARDWARE": "hardware",
                 "SUSPENDED": "suspended", "DISABLED": "disabled", "FAILED": "failed"}
        for name, number in re.findall(r"IGPU_(\w+) = (\d+)", header()):
            self.assertEqual(igpu.STATES[int(number)], names[name])

    def test_the_library_is_the_one_of_this_version(self):
        with open(f"{SOURCE}/CHANGELOG.md") as f:
            abi = re.search(r"^## (\d+\.\d+)\.", f.read(), re.M).group(1)
        with open(f"{SOURCE}/collectors/python/igpu.py") as f:
            self.assertIn(f'"libigpu.so.{abi}"', f.read())
        self.assertTrue(igpu.version().startswith(abi))

    def test_values(self):
        with igpu.open("0000:00:02.0", simulate="rack", min_window=0.01) as gpu:
            now = gpu.read()
        self.assertEqual(now.gpu.address, "0000:00:02.0")
        self.assertAlmostEqual(now.time, time.time(), delta=600)
        self.assertTrue(0 <= float(now.get("engine.render.busy")) <= 1)
        self.assertEqual(now.get("gpu.suspended").value, 0)
        self.assertGreater(now.get("power.mean").value, 0)
        engines = {row.labels["engine"]: row.value.value for row in now.values("engine.busy")}
        self.assertEqual(engines["rcs0"], now.get("engine.render.busy").value)
        self.assertGreater(len(now.values("process")[0].labels["comm"]), 0)

    def test_names(self):
        with igpu.open(simulate="rack", min_window=0.001) as gpu:
            now = gpu.read()
        self.assertEqual(igpu.fields()["engine.busy"], "ratio")
        for name in igpu.fields():
            self.assertIn(now.values(name).reason, igpu.STATES[:-2], name)
        for wrong in ("engine.bussy", "engine.vidoe.busy"):
            with self.assertRaises(KeyError):
                now.get(wrong)
            with self.assertRaises(KeyError):
                now.values(wrong)

    def test_what_is_missing_has_a_reason_and_is_no_number(self):
        with igpu.open(simulate="locked", min_window=0.01) as gpu:
            now = gpu.read()
        missing = now.get("engine.render.busy")
        self.assertFalse(missing)
        self.assertEqual((missing.value, missing.reason), (None, "permission"))
        self.assertRaises(ValueError, float, missing)
        sizes = now.values("memory.size")
        self.assertEqual((sizes, sizes.reason), ([], "permission"))
        feature = now.features["engine_busy"]
        self.assertEqual(feature.state, "permission")
        self.assertTrue(feature.hint)

    def test_errors_have_a_code_and_a_hint(self):
        with self.assertRaises(igpu.Error) as caught:
            igpu.open("card77", simulate="rack")
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("0000:00:02.0", caught.exception.hint)
        self.assertRaises(igpu.Error, igpu.open, simulate="no-such-machine")
        self.assertRaises(TypeError, igpu.open, simulated="rack")
        gpu = igpu.open(simulate="rack")
        gpu.close()
        gpu.close()
        self.assertRaises(ValueError, gpu.read)
        with self.assertRaises(igpu.Error):
            igpu.Timer(igpu.open(simulate="rack"), 0)

    def test_a_timer_is_readable_when_a_reading_is_due(self):
        gpu = igpu.open(simulate="rack", min_window=0.001)
        with igpu.Timer(gpu, 0.01) as timer:
            self.assertRaises(ValueError, gpu.read)  # it is the timer's
            for _ in range(3):
                self.assertTrue(select.select([timer], [], [], 60)[0])
                self.assertTrue(timer.read().get("engine.render.busy"))
        self.assertRaises(ValueError, timer.read)
        with igpu.sample(simulate="rack", interval=3600) as timer:
            self.assertIsNone(timer.read())
            self.assertEqual(timer.missed, 0)
        with igpu.sample(simulate="rack", interval=0.005, min_window=0.001) as timer:
            self.assertEqual(len([now for now, _ in zip(timer, range(3))]), 3)

    def test_gpus_that_are_opened_and_closed_leave_no_descriptor(self):
        def descriptors():
            return len(os.listdir("/proc/self/fd"))

        before = descriptors()
        for _ in range(20):
            with igpu.open(simulate="rack", min_window=0.001, processes=False) as gpu:
                gpu.read()
        self.assertEqual(descriptors(), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
