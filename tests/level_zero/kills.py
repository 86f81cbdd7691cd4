# SPDX-License-Identifier: Apache-2.0
"""Sixty programs of four threads, each killed amid its calls: counters and table differ by the calls in flight at most."""
import pathlib
import random
import subprocess
import tempfile
import time
import unittest

from page import pages
from programs import PROGRAMS, environment

KILLS = 60
THREADS = 4


class Kills(unittest.TestCase):
    def start(self, folder):
        return subprocess.Popen([PROGRAMS / 'application_linked', 'threads', '100000000'], env=environment(folder),
                                stdout=subprocess.DEVNULL)

    def wait_for_calls(self, folder, program):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.assertIsNone(program.poll())
            for path in folder.glob('*.l0'):
                if path.read_bytes()[:8].strip(b'\0') and pages(folder)[0].calls['zeMemFree'].calls > 100:
                    return
            time.sleep(0.001)
        self.fail('no page with calls')

    def test_counters_and_table_after_a_kill(self):
        chance = random.Random(13)
        for _ in range(KILLS):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                program = self.start(folder)
                self.wait_for_calls(folder, program)
                self.assertTrue(pages(folder)[0].alive)
                time.sleep(chance.uniform(0, 0.02))  # somewhere else each time
                program.kill()
                program.wait()
                [page] = pages(folder)
                self.assertFalse(page.alive)
                self.assertEqual(page.ended, 0)
                memory = page.kinds['memory_device']
                table = [l for l in page.live if l.kind == 'memory_device']
                self.assertLessEqual(abs(memory.live - len(table)), THREADS)
                self.assertLessEqual(abs(memory.created - memory.destroyed - len(table)), THREADS)
                self.assertLessEqual(abs(memory.bytes - sum(l.bytes for l in table)), THREADS * 4096)
                self.assertLessEqual(abs(page.calls['zeMemAllocDevice'].calls - memory.created), THREADS)
                self.assertLessEqual(len(table), THREADS)
                self.assertEqual(page.invalid_destroys, 0)


if __name__ == '__main__':
    unittest.main(argv=['kills'], verbosity=2)
