# SPDX-License-Identifier: Apache-2.0
"""Programs with the tracker on the page that the exporter serves: from their start to what they leaked."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from page import pages
from programs import BUILD, PROGRAMS, environment, no_core, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from exporter_under_test import Exporter, get, wait_for  # noqa: E402

EXPORTER = BUILD / 'exporter' / 'intel-gpu-exporter'
RUNS_FOR_LONG = [PROGRAMS / 'application_linked', 'threads', '100000000']
# New pid and mount namespaces, as containers have; the program is process 1 in its own, or the child of it.
CONTAINER = ('unshare', '--pid', '--mount', '--mount-proc', '--fork', '--kill-child')
# The same with root directories of their own: of what one writes, the other sees only the folder with the pages, and that under
# the path where packages have it.
ROOT_OF_ITS_OWN = '''
root=$1 pages=$2 access=$3
mount -t tmpfs tmpfs "$root"
for shared in /usr /etc "$4"; do
  mkdir -p "$root$shared"
  mount --rbind "$shared" "$root$shared"
  mount -o remount,bind,ro "$root$shared"
done
for link in bin lib lib64; do ln -s "usr/$link" "$root/$link"; done
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root$5"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -o "bind,$access" "$pages" "$root$5"
mount -o "remount,bind,$access" "$root$5"
shift 5
exec chroot "$root" "$@"
'''
DEFAULT_FOLDER = '/run/intel-gpu-exporter/level-zero'


def child_of(process):
    [pid] = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
    return int(pid)


class ContainedExporter(Exporter):
    def signal_end(self):
        os.kill(child_of(self.process), signal.SIGTERM)  # unshare itself does not pass it on


class Served(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.folder = self.scratch / 'pages'

    def exporter(self, kind=Exporter, prefix=(), folder=None):
        exporter = kind(EXPORTER, self.scratch / 'log', f'--path.level-zero={folder or self.folder}',
                        '--no-collector.fdinfo', prefix=prefix)

        def stop():
            exporter.stop()
            self.assertEqual(exporter.process.returncode, 0, exporter.log())

        self.addCleanup(stop)
        self.url = exporter.url
        return exporter

    def application(self, *prefix, folder=None):
        program = subprocess.Popen([*prefix, *RUNS_FOR_LONG], env=environment(folder or self.folder), preexec_fn=no_core,
                                   stdout=subprocess.DEVNULL)

        def end():
            program.kill()
            program.wait()

        self.addCleanup(end)
        return program

    def samples(self, name):
        """{labels: value} of the series of one metric now."""
        lines = re.findall(rf'(?m)^intel_gpu_level_zero_{name}\{{(.*)\}} (\S+)$', get(self.url))
        return {labels: float(value) for labels, value in lines}

    def wait_for_sample(self, name, pattern):
        def found():
            return [labels for labels in self.samples(name) if re.search(pattern, labels)]
        return wait_for(found, lambda: f'no {name} with {pattern}: {self.samples(name)}')

    def test_a_folder_that_is_made_while_the_exporter_runs(self):
        # No collector reads other processes, so Landlock confines also the threads that read pages.
        exporter = self.exporter()
        self.assertIn('feature="level_zero",reason="disabled"', get(self.url))
        if not re.search(r'msg=sandbox on=\S*landlock', exporter.log()):
            print('not checked: the files that Landlock allows, as this kernel has no Landlock')
        self.folder.mkdir()
        program = self.application()
        self.wait_for_sample('calls_total', rf'pid="{program.pid}",comm="application_lin",function="zeMemFree"')
        self.assertIn('feature="level_zero",reason="ok"', get(self.url))

    def test_what_a_program_leaves_is_served_after_its_end(self):
        self.folder.mkdir()
        self.exporter()
        run('application_linked', 'growing_heap', env=environment(self.folder))
        [page] = pages(self.folder)
        program = f'pid="{page.pid}",comm="application_lin"'
        self.wait_for_sample('ended', f'^{program},how="exit"$')
        self.assertEqual(self.samples('leaked_bytes')[f'{program},memory="device"'], 500_012_345)
        self.assertEqual(self.samples('leaked_resources')[f'{program},resource="memory_device"'], 6)
        run('application_linked', 'kill', '50', env=environment(self.folder))
        self.wait_for_sample('ended', 'how="killed"$')

    def test_an_application_in_namespaces_of_its_own(self):
        self.folder.mkdir()
        self.exporter()
        program = self.application(*CONTAINER)
        found = self.wait_for_sample('calls_total', 'function="zeMemFree"')
        # The page has the number in the program's own namespace; what is served is the number that the exporter sees.
        [page] = pages(self.folder)
        self.assertLess(page.pid, 10)
        pid = child_of(program)
        self.assertIn(f'pid="{pid}",', found[0])
        os.kill(pid, signal.SIGKILL)
        self.wait_for_sample('ended', f'^pid="{pid}",comm="application_lin",how="killed"$')

    def test_application_and_exporter_in_namespaces_of_their_own(self):
        self.folder.mkdir()
        self.exporter(ContainedExporter, prefix=CONTAINER)
        program = self.application(*CONTAINER)
        [found] = self.wait_for_sample('calls_total', 'function="zeMemFree"')
        [page] = pages(self.folder)
        self.assertIn(f'pid="{page.pid}",', found)  # neither sees the other: its own number is the only one
        os.kill(child_of(program), signal.SIGKILL)
        self.wait_for_sample('ended', f'^pid="{page.pid}",comm="application_lin",how="killed"$')

    def container(self, name, access):
        """What runs a program in a container that has nothing in common with others but the folder."""
        root = self.scratch / name
        root.mkdir()
        return ('unshare', '--pid', '--mount', '--fork', '--kill-child', 'sh', '-ec', ROOT_OF_ITS_OWN, 'sh', root, self.folder,
                access, BUILD, DEFAULT_FOLDER)

    def test_containers_that_share_only_the_folder(self):
        self.folder.mkdir()
        self.exporter(ContainedExporter, prefix=self.container('exporter', 'ro'), folder=DEFAULT_FOLDER)
        program = self.application(*self.container('application', 'rw'), folder=DEFAULT_FOLDER)
        self.wait_for_sample('calls_total', '^pid="1",comm="application_lin",function="zeMemFree"$')
        [page] = pages(self.folder)
        self.assertEqual((page.pid, page.alive), (1, True))
        os.kill(child_of(program), signal.SIGKILL)
        self.wait_for_sample('ended', '^pid="1",comm="application_lin",how="killed"$')

    def test_files_that_are_no_pages_do_not_hide_those_that_are(self):
        self.folder.mkdir()
        run('application_linked', 'plain', '50', env=environment(self.folder))
        [page] = self.folder.iterdir()
        good = page.read_bytes()
        made = {
            'fifo': lambda path: os.mkfifo(path),
            'link': lambda path: path.symlink_to(page),
            'folder': lambda path: path.mkdir(),
            'short': lambda path: path.write_bytes(good[:5000]),
            'long': lambda path: path.write_bytes(good + bytes(100_000_000)),
            'sparse': lambda path: (path.write_bytes(good), os.truncate(path, 1 << 40)),
            'random': lambda path: path.write_bytes(good[:4096] + os.urandom(len(good) - 4096)),
            'noise': lambda path: path.write_bytes(os.urandom(len(good))),
            'empty': lambda path: path.write_bytes(b''),
        }
        for number, make in enumerate(made.values()):
            make(self.folder / f'{number + 1}-{number + 1}.l0')
        self.exporter()
        self.wait_for_sample('ended', 'how="exit"$')
        rejected = self.samples('pages_rejected_total')
        self.assertEqual(sum(rejected.values()), len(made), rejected)
        self.assertEqual(rejected['reason="not_a_file"'], 3)
        self.assertEqual(len(self.samples('leaked_bytes')), 1)

    def test_ten_thousand_files(self):
        self.folder.mkdir()
        run('application_linked', 'plain', '50', env=environment(self.folder))
        [page] = self.folder.iterdir()
        start = int(page.stem.split('-')[1])
        for number in range(10_000):
            (self.folder / f'{number + 2}-{start - number - 1}.l0').write_bytes(b'')
        self.exporter()
        self.wait_for_sample('ended', 'how="exit"$')  # the newest is read
        rejected = self.samples('pages_rejected_total')
        # A file whose turn comes or goes with the next scrape may count under both.
        self.assertTrue(10_000 <= rejected['reason="size"'] + rejected['reason="too_many"'] < 10_010, rejected)


if __name__ == '__main__':
    unittest.main(argv=['served'], verbosity=2)
