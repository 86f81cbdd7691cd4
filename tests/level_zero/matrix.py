# SPDX-License-Identifier: Apache-2.0
"""Every way into a program, every way out of it: the counts are exact."""
import pathlib
import signal
import subprocess
import tempfile
import unittest

from page import pages
from programs import PROGRAMS, WAYS, environment, run

COUNT = 50
# mode: (exit status, how many pages, device allocations made and alive in each page, kinds alive at the end beside memory)
PLAIN = (COUNT + 1, 1)
MODES = {
    'plain': (0, [PLAIN], []),
    'threads': (0, [(4 * COUNT + 4 + 1, 5)], []),
    'fork': (0, [(COUNT + 2, 2), (2, 2)], []),
    'exec': (0, [(COUNT + 2, 2)], []),
    'exec_after': (0, [(1, 1)], ['context']),
    '_exit': (0, [PLAIN], ['context']),
    'segv': (-signal.SIGSEGV, [PLAIN], ['context']),
    'kill': (-signal.SIGKILL, [PLAIN], ['context']),
    'abort': (-signal.SIGABRT, [PLAIN], ['context']),
    'errors': (0, [PLAIN], []),
    'dlclose': (0, [PLAIN], []),
}
RUNS_EXIT_HANDLERS = {'plain', 'threads', 'fork', 'exec', 'errors', 'dlclose'}


class Matrix(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def run_mode(self, mode, way='path', program='application_linked', status=0, count=COUNT, **variables):
        got, output = run(program, mode, str(count), env=environment(self.folder, way, **variables))
        self.assertEqual(got, status, output)
        return pages(self.folder)

    def check_ended(self, page, mode, first):
        self.assertFalse(page.alive)
        if first:
            self.assertEqual(page.ended != 0, mode in RUNS_EXIT_HANDLERS, 'exit handlers')

    def check_mode(self, mode, way, program):
        status, expected, kinds = MODES[mode]
        found = self.run_mode(mode, way, program, status)
        self.assertEqual([p.count('memory_device') for p in found], expected)
        page = found[0]
        for index, each in enumerate(found):
            self.check_ended(each, mode, index == 0)
            memory = [l for l in each.live if l.kind == 'memory_device']
            self.assertEqual(len(memory), expected[index][1])
            for leak in memory:
                self.assertIn(program, leak.site[0][0])  # never the loader
        created, live = expected[0]
        self.assertEqual(sorted(l.kind for l in page.live if l.kind != 'memory_device'), kinds)
        self.assertEqual(page.calls['zeMemAllocDevice'].calls, created + (3 if mode == 'errors' else 0))
        self.assertEqual(page.calls['zeMemAllocDevice'].errors, 3 if mode == 'errors' else 0)
        self.assertEqual(page.kinds['memory_device'].failed, 3 if mode == 'errors' else 0)
        self.assertEqual(page.calls['zeMemFree'].calls, created - live)
        self.assertEqual(page.kinds['memory_device'].bytes, sum(l.bytes for l in page.live))
        self.assertEqual(page.invalid_destroys, 0)
        self.assertEqual(page.untracked, 0)
        if mode != 'exec_after':
            self.assertEqual(page.calls['zeCommandListAppendBarrier'].calls, 4 * COUNT if mode == 'threads' else COUNT)
            self.assertEqual(page.count('event'), (1, 0))
            self.assertEqual(page.count('command_list_immediate'), (1, 0))
            self.assertIn(('memory_device', 12345), page.leaked())

    def test_ways_out(self):
        for program in ('application_linked', 'application_dynamic'):
            for mode in MODES:
                if mode == 'dlclose' and program == 'application_linked':
                    continue
                # What does not depend on the way out is tried in one way in.
                for way in WAYS if program == 'application_dynamic' or mode in ('plain', 'fork', 'kill') else ('path',):
                    with self.subTest(program=program, mode=mode, way=way):
                        for old in self.folder.glob('*'):
                            old.unlink()
                        self.check_mode(mode, way, program)

    def test_the_loader_intercepts_every_call(self):
        [page] = self.run_mode('plain', ZE_ENABLE_LOADER_INTERCEPT='1')
        self.assertEqual(page.count('memory_device'), PLAIN)
        self.assertIn('application_linked', page.live[0].site[0][0])

    def test_two_drivers(self):
        drivers = f'{PROGRAMS}/libfake_driver.so,{PROGRAMS}/libsecond_driver.so'
        [page] = self.run_mode('plain', ZE_ENABLE_ALT_DRIVERS=drivers)
        self.assertEqual(page.count('memory_device'), PLAIN)
        self.assertIn('application_linked', page.live[0].site[0][0])

    def test_the_tracing_layer_on_top(self):
        [page] = self.run_mode('plain', ZE_ENABLE_TRACING_LAYER='1')
        self.assertEqual(page.count('memory_device'), PLAIN)
        self.assertIn('application_linked', page.live[0].site[0][0])

    def test_the_real_validation_layer_behind(self):
        def result_of_a_bad_argument(**variables):
            status, output = run('application_linked', 'bad_argument', env=environment(self.folder, **variables))
            self.assertEqual(status, 0, output)
            return output.strip()

        self.assertEqual(result_of_a_bad_argument(), 'bad argument: 0')
        self.assertRegex(result_of_a_bad_argument(ZE_ENABLE_PARAMETER_VALIDATION='1'), '^bad argument: 0x78')
        without, behind = pages(self.folder)
        self.assertEqual(without.calls['zeEventPoolCreate'], (2, 0))
        self.assertEqual(behind.calls['zeEventPoolCreate'], (2, 1))
        self.assertEqual(behind.count('event_pool'), (1, 0))
        self.assertEqual(behind.count('memory_device'), PLAIN)

    def test_an_extension_function_that_passes_every_layer(self):
        [page] = self.run_mode('extension')
        self.assertEqual(page.count('event'), (4, 1))
        self.assertEqual(page.calls['zexCounterBasedEventCreate2'].calls, 3)
        self.assertEqual(page.invalid_destroys, 0)

    def test_a_build_log_is_a_resource(self):
        [page] = self.run_mode('module')
        self.assertEqual(page.count('module'), (2, 2))
        self.assertEqual(page.count('build_log'), (1, 0))

    def test_wrong_destroys_are_counted_and_answered_by_the_driver(self):
        [page] = self.run_mode('wrong_destroys')
        self.assertEqual(page.invalid_destroys, 1)
        self.assertEqual(page.calls['zeEventDestroy'], (3, 1))
        self.assertEqual(page.count('event'), (1, 0))

    def test_the_driver_forks(self):
        parent, child = self.run_mode('fork_in_driver')
        self.assertEqual(parent.count('memory_device'), (COUNT + 2, 2))
        self.assertIn(('memory_device', 77), child.leaked())
        self.assertEqual(child.count('memory_device'), (2, 2))

    def test_forks_while_other_threads_allocate(self):
        found = self.run_mode('fork_in_threads')
        self.assertEqual(len(found), 51)
        for page in found[1:]:
            self.assertEqual(page.leaked(), [('memory_device', 2000)])
        self.assertEqual(found[0].leaked(), [('memory_device', 12345)])

    def test_sixty_thousand_live_resources(self):
        count = 60000
        [page] = self.run_mode('many', count=count)
        self.assertEqual(page.count('memory_device'), (count + 1, count // 3 + 1))
        self.assertEqual(page.kinds['memory_device'].live_peak, count)
        self.assertEqual(len(page.live), count // 3 + 1)
        self.assertGreater(page.entries, count - 1)
        self.assertEqual(len({l.site[0] for l in page.live if l.bytes == 16}), 1)

    def test_a_table_filled_to_its_last_chunk(self):
        most = 1024 * (2 ** 10 - 1)  # entries of all chunks
        count = most + 2000
        [page] = self.run_mode('full_table', count=count)
        memory = page.kinds['memory_device']
        self.assertEqual(page.entries, most)
        # Each of the 16 parts of the table takes entries by 64: when one part finds no more, others may have some left.
        self.assertGreater(memory.live_peak, most - 16 * 64)
        self.assertLessEqual(memory.live_peak, most)
        # The last one, of 12345 bytes, is created when all others have been freed.
        self.assertEqual(memory.created + page.untracked, count + 1)
        self.assertEqual(memory.live_peak + page.untracked, count)
        self.assertEqual((memory.live, memory.bytes), (1, 12345))
        self.assertEqual(page.untracked_destroys, page.untracked)
        self.assertEqual(page.invalid_destroys, 0)
        self.assertEqual(page.leaked(), [('memory_device', 12345)])
        self.assertEqual(page.calls['zeMemAllocDevice'], (count + 1, 0))
        self.assertEqual(page.calls['zeMemFree'], (count, 0))

    def test_leaks_beside_a_growing_heap(self):
        [page] = self.run_mode('growing_heap')
        self.assertEqual(page.leaked(), [('memory_device', 12345)] + [('memory_device', 100_000_000)] * 5)
        self.assertEqual(page.kinds['memory_device'].bytes, 500_012_345)
        # One place made all of them: its address is inside the function that the program exports.
        begin, end = self.function('application_linked', 'leak_one')
        for leak in page.live:
            [(path, address)] = leak.site
            self.assertIn('application_linked', path)
            self.assertTrue(begin < address <= end, (hex(begin), hex(address), hex(end)))

    @staticmethod
    def function(program, name):
        """Where a function lies in its file."""
        symbols = subprocess.run(['nm', '-D', '-S', PROGRAMS / program], check=True, stdout=subprocess.PIPE, text=True)
        [line] = [l for l in symbols.stdout.splitlines() if l.endswith(' ' + name)]
        begin, size = (int(n, 16) for n in line.split()[:2])
        return begin, begin + size

    def test_stacks(self):
        [page] = self.run_mode('plain', INTEL_GPU_LEVEL_ZERO_STACKS='8')
        [leak] = page.live
        self.assertEqual(page.frames, 8)
        self.assertGreater(len(leak.site), 2)
        self.assertTrue(all('application_linked' in path for path, _ in leak.site[:2]), leak.site)


if __name__ == '__main__':
    unittest.main(argv=['matrix'], verbosity=2)
