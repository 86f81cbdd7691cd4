# SPDX-License-Identifier: Apache-2.0
"""Places where the tracker cannot keep a page, or not for long: the program runs on, with the same results."""
import os
import pathlib
import resource
import signal
import stat
import subprocess
import tempfile
import unittest

from page import pages
from programs import PROGRAMS, environment, no_core, run

COUNT = 50
NOBODY = 65534


class Surroundings(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def run_program(self, *arguments, folder=None, **how):
        status, output = run('application_linked', *arguments, env=environment(folder or self.folder), **how)
        self.assertEqual((status, output), (0, ''))

    def test_no_folder(self):
        self.run_program('many', '5000', folder=self.folder / 'none')

    def test_a_folder_with_a_name_too_long(self):
        self.run_program('plain', folder=self.folder / ('x' * 600))

    def test_something_else_in_the_folders_place(self):
        file = self.folder / 'file'
        file.write_text('')
        self.run_program('plain', folder=file)

    def test_nobody_in_the_folder_of_all(self):
        # As packages make it: everybody adds pages, its group reads them, nobody lists or removes another's.
        shared = self.folder / 'shared'
        shared.mkdir()
        os.chown(shared, 0, 4242)
        shared.chmod(0o3773)
        self.folder.chmod(0o755)

        def become_nobody():
            no_core()
            os.umask(0o077)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        self.run_program('plain', folder=shared, before=become_nobody)
        [page] = pages(shared)
        self.assertEqual(page.count('memory_device'), (COUNT + 1, 1))
        self.assertEqual(page.uid, NOBODY)
        status = page.path.stat()
        self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (NOBODY, 4242, 0o640))

    def in_small_file_system(self, size, mode, count):
        """Runs a program whose pages lie on a tmpfs of `size`; returns copies of its pages."""
        shared, copies = self.folder / 'shared', self.folder / 'copies'
        shared.mkdir()
        copies.mkdir()
        script = 'mount -t tmpfs -o size="$1" tmpfs "$2" && "$3" "$4" "$5" && { cp "$2"/* "$6"/ || :; }'
        done = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', script, 'sh', str(size), shared, PROGRAMS / 'application_linked', mode,
             str(count), copies],
            env=environment(shared), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        return pages(copies)

    def test_a_file_system_too_small_for_a_page(self):
        self.assertEqual(self.in_small_file_system('64k', 'many', 5000), [])

    def test_a_file_system_that_fills_up(self):
        [page] = self.in_small_file_system('400k', 'many', 30000)
        # Counters stay exact; entries end where the file does.
        self.assertEqual(page.count('memory_device'), (30001, 10001))
        self.assertEqual(page.untracked, 0)
        self.assertLess(page.entries, 30000)
        self.assertLess(len(page.live), 10001)

    def test_a_limit_on_file_sizes(self):
        def limited(size):
            def limit():
                no_core()
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return limit

        self.run_program('many', '5000', before=limited(4096))
        self.assertEqual(pages(self.folder), [])
        self.run_program('many', '30000', before=limited(400000))
        [page] = pages(self.folder)
        self.assertEqual(page.count('memory_device'), (30001, 10001))

    def test_a_daemon_that_closes_every_descriptor(self):
        self.run_program('without_descriptors', '3000')
        [page] = pages(self.folder)
        self.assertEqual(page.count('memory_device'), (2 * 3000 + 1, 3001))

    def test_few_descriptors(self):
        def few():
            no_core()
            resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))

        self.run_program('plain', before=few)
        [page] = pages(self.folder)
        self.assertEqual(page.count('memory_device'), (COUNT + 1, 1))

    def test_a_page_that_others_wrote_over(self):
        # The same user could do worse; the program must not.
        program = subprocess.Popen([PROGRAMS / 'application_linked', 'threads', '3000000'], env=environment(self.folder),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        overwritten = 0
        while program.poll() is None and overwritten < 20:
            for path in self.folder.glob('*.l0'):
                with open(path, 'r+b') as file:
                    file.write(os.urandom(path.stat().st_size))
                overwritten += 1
        self.assertIsNone(program.poll())
        program.send_signal(signal.SIGTERM)
        output, _ = program.communicate()
        self.assertEqual((program.returncode, output), (-signal.SIGTERM, ''))


if __name__ == '__main__':
    unittest.main(argv=['surroundings'], verbosity=2)
