# SPDX-License-Identifier: Apache-2.0
"""What the tracker asks of other people's programs: old C libraries, no C++ runtime, no symbol but a layer's getters."""
import pathlib
import re
import subprocess
import sys
import unittest

from page import TABLE

FOLDER = pathlib.Path(sys.argv[1])
NEWEST_GLIBC = (2, 34)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def defined(library):
    return {line.split()[-1].split('@')[0] for line in output('nm', '-D', '--defined-only', library).splitlines()}


class Symbols(unittest.TestCase):
    layer = FOLDER / 'libze_validation_layer.so.1'
    libraries = (layer, FOLDER / 'liblevel_zero_preload.so', FOLDER / 'liblevel_zero_audit.so')

    def test_only_the_getters_are_exported(self):
        getters = set(re.findall(r'^LEVEL_ZERO_TABLE\((\w+)\)', TABLE, re.M))
        self.assertGreater(len(getters), 50)
        self.assertEqual(defined(self.layer), getters)
        self.assertEqual(defined(self.libraries[1]), set())
        self.assertEqual(defined(self.libraries[2]), {'la_version', 'la_objsearch'})

    def test_old_c_libraries_have_every_symbol(self):
        for library in self.libraries:
            versions = re.findall(r'GLIBC_([\d.]+)', output('objdump', '-T', library))
            self.assertTrue(versions)
            self.assertLessEqual(max(tuple(map(int, v.split('.'))) for v in versions), NEWEST_GLIBC, library)

    def test_no_c_plus_plus_runtime(self):
        for library in self.libraries:
            needed = set(re.findall(r'NEEDED.*\[(.*)\]', output('readelf', '-d', library)))
            self.assertLessEqual(needed, {'libc.so.6', 'libgcc_s.so.1', 'ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'})

    def test_the_loader_finds_it_as_the_validation_layer_and_never_unloads_it(self):
        dynamic = output('readelf', '-d', self.layer)
        self.assertIn('soname: [libze_validation_layer.so.1]', dynamic)
        self.assertIn('NODELETE', dynamic)


if __name__ == '__main__':
    unittest.main(argv=['symbols'], verbosity=2)
