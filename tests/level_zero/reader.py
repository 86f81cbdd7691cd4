# SPDX-License-Identifier: Apache-2.0
"""The exporter's reader over the tracker's own pages says what an independent reader says."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from page import pages
from programs import PROGRAMS, environment, run


def read(folder):
    done = subprocess.run([PROGRAMS / 'read_pages', folder], stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(done.stdout)


class Reader(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def compare(self, count):
        expected = pages(self.folder)
        self.assertEqual(len(expected), count)
        found = read(self.folder)
        self.assertEqual(found['rejected'], {})
        self.assertEqual(sorted(found['programs']), sorted(p.path.name for p in expected))
        for page in expected:
            one = found['programs'][page.path.name]
            self.assertEqual(one['alive'], page.alive)
            self.assertEqual((one['pid'], one['comm'], one['ended']), (page.pid, page.comm, page.ended))
            self.assertEqual((one['invalid_destroys'], one['untracked']), (page.invalid_destroys, page.untracked))
            self.assertEqual(one['resources'], {name: list(kind) for name, kind in page.kinds.items()
                                                if kind.created or kind.failed})
            self.assertEqual(one['calls'], {name: list(calls) for name, calls in page.calls.items() if calls.calls})
        return found

    def test_ended_programs(self):
        for mode in ('plain', 'threads', 'fork', 'errors', 'wrong_destroys', 'module', 'kill', '_exit'):
            run('application_linked', mode, '50', env=environment(self.folder))
        run('application_linked', 'many', '5000', env=environment(self.folder, INTEL_GPU_LEVEL_ZERO_STACKS='16'))
        found = self.compare(10)  # fork: two
        self.assertFalse(any(program['alive'] for program in found['programs'].values()))

    def test_a_program_that_runs(self):
        program = subprocess.Popen([PROGRAMS / 'application_linked', 'threads', '100000000'],
                                   env=environment(self.folder), stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                self.assertIsNone(program.poll())
                found = read(self.folder)['programs']
                if found and next(iter(found.values()))['calls'].get('zeMemFree', [0])[0] > 100:
                    break
                time.sleep(0.01)
            [one] = found.values()
            self.assertTrue(one['alive'])
            self.assertEqual((one['holder'], one['ended']), (program.pid, 0))
            # Read amid the calls of four threads, over and over: never taken for a lie.
            for _ in range(50):
                self.assertEqual(list(read(self.folder)['rejected']), [])
            program.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)
            self.compare(1)
            program.send_signal(signal.SIGCONT)
        finally:
            program.kill()
            program.wait()
        self.compare(1)


if __name__ == '__main__':
    unittest.main(argv=['reader'], verbosity=2)
