# SPDX-License-Identifier: Apache-2.0
"""intel-gpu-exporter level-zero: runs programs with the tracker, and renders what they left."""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

from page import pages
from programs import BUILD, LOADER, PROGRAMS, TRACKER, environment, no_core

EXPORTER = BUILD / 'exporter' / 'intel-gpu-exporter'
SOURCE = pathlib.Path(__file__).with_name('application.cpp').read_text().splitlines()
COLUMNS = ('CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,Delta_VmSize_KB,Delta_VmRSS_KB,'
           'Delta_VmData_KB,Contexts,CommandQueues,Modules,Kernels,EventPools,CommandLists,Events,Fences,Images,'
           'Samplers,TotalMemory_Bytes')


class Command(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.pages = self.folder / 'pages'
        self.pages.mkdir()

    def variables(self, **more):
        kept = environment(self.pages, way='none')
        if LOADER:
            kept['LD_LIBRARY_PATH'] = LOADER
        return {**kept, 'TMPDIR': str(self.folder), **more}

    def call(self, *arguments, status=0, **more):
        done = subprocess.run([EXPORTER, 'level-zero', *map(str, arguments)], env=self.variables(**more), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, preexec_fn=no_core)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def run_program(self, *arguments, flags=(), **more):
        return self.call('run', *flags, '--', PROGRAMS / 'application_linked', *arguments, **more)

    def the_only(self, pattern):
        [found] = self.folder.glob(pattern)
        return found

    def test_the_status_of_the_program_is_kept(self):
        self.run_program('plain')
        self.run_program('kill', status=137)
        self.call('run', '--', '/bin/sh', '-c', 'exit 7', status=7)
        done = self.call('run', '--', '/no/such/program', status=1)
        self.assertIn('/no/such/program: No such file or directory', done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir()], ['pages'])  # nothing is left lying about

    def test_a_leak_can_fail_the_run(self):
        self.run_program('plain', flags=['--fail-on-leak'], status=1)
        self.run_program('kill', flags=['--fail-on-leak'], status=137)
        done = self.call('run', '--fail-on-leak', '--', '/bin/true')
        self.assertIn('left no page', done.stderr)

    def test_five_leaks_beside_a_growing_heap_are_named_and_nothing_else(self):
        done = self.run_program('growing_heap', '20')
        leaks = [line for line in done.stderr.splitlines() if 'LEAK' in line]
        self.assertEqual(len(leaks), 1)  # one place: what else it leaks, 12345 bytes, comes from there, too
        self.assertIn('LEAK 6 memory_device, 500012345 bytes, zeMemAllocDevice', leaks[0])
        place = re.search(r'by leak_one\+0x[0-9a-f]+ \(application_linked\) at \S*application\.cpp:(\d+)$', leaks[0])
        self.assertTrue(place, leaks[0])
        self.assertIn('allocate(', ''.join(SOURCE[int(place[1]) - 2:int(place[1]) + 1]))
        done = self.run_program('growing_heap', '20', flags=['--stacks', '3'])
        self.assertIn('LEAK 5 memory_device, 500000000 bytes', done.stderr)
        self.assertIn('LEAK 1 memory_device, 12345 bytes', done.stderr)
        self.assertIn('called by main', done.stderr)

    def test_pages_go_where_the_exporter_reads_them(self):
        self.run_program('plain')
        self.assertEqual(len(pages(self.pages)), 1)
        self.run_program('plain', INTEL_GPU_EXPORTER_PATH_LEVEL_ZERO='/no/such/folder')
        self.assertEqual(len(pages(self.pages)), 1)

    def check_csv(self, path, memory):
        lines = path.read_text().splitlines()
        self.assertEqual(lines[0], COLUMNS)
        rows = [line.split(',') for line in lines[1:]]
        self.assertEqual({len(row) for row in rows}, {22})
        self.assertEqual([int(row[0]) for row in rows], list(range(1, len(rows) + 1)))
        names = [row[2] for row in rows]
        self.assertEqual((names[0], names[-1]), ('zeContextCreate', 'zeContextDestroy'))
        self.assertEqual((names.count('zeMemAllocDevice'), names.count('zeMemFree')), (30, 24))
        self.assertEqual([int(row[11]) for row in (rows[0], rows[-1])], [1, 0])
        self.assertEqual(int(rows[-1][21]), 500012345)
        numbers = [[int(field) for field in row[3:11]] for row in rows]
        if memory:
            self.assertTrue(all(row[1] > 0 and row[4] == 1 for row in numbers))
        else:
            self.assertFalse(any(any(row) for row in numbers))
        return rows

    def test_csv(self):
        self.run_program('growing_heap', '4', flags=['--csv', self.folder / 'a.b.csv'])
        [page] = pages(self.pages)
        self.check_csv(self.folder / f'a.b_pid{page.pid}.csv', memory=True)

    def test_csv_by_the_variable_of_the_known_tool(self):
        variables = environment(self.pages, ZEL_SYSTEM_RESOURCE_TRACKER_CSV=str(self.folder / 'known'))
        program = [PROGRAMS / 'application_linked', 'growing_heap', '4']
        subprocess.run(program, env=variables, check=True, timeout=120)
        self.check_csv(self.the_only('known_pid*'), memory=True)
        # Where the known tool runs as well, the file is its own.
        variables.update(ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER='1', INTEL_GPU_LEVEL_ZERO_VALIDATION_LAYER='/none',
                         ZEL_SYSTEM_RESOURCE_TRACKER_CSV=str(self.folder / 'other'))
        subprocess.run(program, env=variables, check=True, timeout=120)
        self.assertEqual(list(self.folder.glob('other*')), [])

    def test_a_log_renders_to_the_same_csv(self):
        self.run_program('growing_heap', '4', flags=['--log', self.folder / 'x.log'])
        log = self.the_only('x_pid*.log')
        self.call('csv', log, self.folder / 'x.csv')
        rows = self.check_csv(self.folder / 'x.csv', memory=False)
        self.assertEqual(self.call('csv', log).stdout, (self.folder / 'x.csv').read_text())
        log.write_bytes(log.read_bytes()[:-3])
        self.assertEqual(len(self.call('csv', log).stdout.splitlines()), len(rows))  # less one, and the header
        log.write_bytes(b'no log')
        self.assertIn('not a log', self.call('csv', log, status=1).stderr)

    def test_a_log_renders_to_the_lines_of_the_known_tool(self):
        log, report = self.folder / 'x.log', self.folder / 'x.html'
        self.run_program('growing_heap', '4', flags=['--log', log, '--report', report])
        log = self.the_only('x_pid*.log')
        [page] = pages(self.pages)
        lines = self.call('report', '--calls', log, page.path).stdout.splitlines()
        calls = [line for line in lines if ' thread ' in line and 'grew' not in line]
        self.assertEqual(len(calls), sum(calls.calls for calls in page.calls.values()))
        change = r'Delta: VmRSS=[+-]\d+KB, VmSize=[+-]\d+KB, VmData=[+-]\d+KB; live: Contexts=1 '
        created = rf'^\d+\.\d{{6}} s thread \d+ zeEventCreate: Event Count=1, handle=(0x[0-9a-f]+), {change}'
        [event] = [found[1] for found in map(re.compile(created).match, calls) if found]
        self.assertRegex('\n'.join(calls), rf'(?m) zeEventDestroy: Event Count=0, handle={event}, {change}.*500012345B$')
        # The heap has grown by 20 MB in the life of the four objects that are destroyed: no leak of theirs, and named a guess.
        grew = [line for line in lines if 'grew, a guess at a leak' in line and ': Memory ' not in line]
        self.assertEqual([re.search(r': (\w+) handle=', line)[1] for line in grew], ['Event', 'EventPool', 'CommandList', 'Context'])
        self.assertIn(f'Event handle={event} - After destroy: VmRSS=+', grew[0])
        grown = {kind: int(kb) for kind, kb in re.findall(r'(?m)^  (Memory|Event|EventPool|CommandList|Context|all): (\d+)$',
                                                         '\n'.join(lines))}
        self.assertEqual(sum(grown.values()), 2 * grown.pop('all'))
        grown.pop('Memory', None)
        self.assertTrue(len(grown) == 4 and all(kb > 19000 for kb in grown.values()), grown)
        self.assertIn('LEAK 6 memory_device, 500012345 bytes', '\n'.join(lines))
        self.assertIn('--calls needs a log', self.call('report', '--calls', page.path, status=1).stderr)

    def test_lines_of_calls_without_memory(self):
        self.run_program('errors', '2', flags=['--log', self.folder / 'e.log'])
        text = self.call('report', '--calls', self.the_only('e_pid*.log')).stdout
        self.assertEqual(len(re.findall(r'(?m) zeMemAllocDevice: handle=\S+, result=0x70000003; live: Contexts=1 ', text)), 3)
        self.assertNotIn('Delta', text)
        self.assertNotIn('resident memory that', text)

    def test_every_process_has_a_file_of_its_own(self):
        self.run_program('fork', '5', flags=['--csv', self.folder / 'f.csv'])
        parent, child = pages(self.pages)
        for page in (parent, child):
            lines = (self.folder / f'f_pid{page.pid}.csv').read_text().splitlines()
            self.assertEqual(len(lines) - 1, sum(calls.calls for calls in page.calls.values()))

    def test_a_full_disk_or_a_lost_descriptor_ends_the_log_and_nothing_else(self):
        full = self.folder / 'full'
        full.mkdir()
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4k', 'none', full], check=True)
        self.addCleanup(subprocess.run, ['umount', full], check=True)
        self.run_program('fork', '50', flags=['--csv', full / 'x.csv'])
        self.assertEqual(sum(file.stat().st_blocks for file in full.iterdir()) * 512, 4096, 'the disk is not full')
        self.run_program('plain', flags=['--csv', '/no/such/folder/x.csv'])
        self.run_program('without_descriptors', '100', flags=['--log', self.folder / 'd.log'])
        self.assertGreater(self.the_only('d_pid*.log').stat().st_size, 0)

    def check_html(self, path, panels):
        text = path.read_text()
        self.assertNotIn('<script', text)
        self.assertEqual(re.findall(r'(?:src|href)=', text), [])
        self.assertEqual(set(re.findall(r"https?://[^'\" <]+", text)), {'http://www.w3.org/2000/svg'} if panels else set())
        drawings = re.findall(r'<svg.*</svg>', text, re.S)
        self.assertEqual(len(drawings), 1 if panels else 0)
        if panels:
            self.assertEqual(len(xml.fromstring(drawings[0])), panels)
        return text

    def test_report_of_a_run(self):
        self.run_program('growing_heap', '20', flags=['--report', self.folder / 'r.html'])
        text = self.check_html(self.folder / 'r.html', 12)
        self.assertRegex(text, r'<td>memory_device</td><td class=.n.>6</td><td class=.n.>500012345</td>')
        self.assertIn('leak_one+', text)
        self.run_program('plain', flags=['--report', self.folder / 'r.txt'])
        self.assertIn('LEAK 1 memory_device, 12345 bytes', (self.folder / 'r.txt').read_text())

    def csv_with(self, rows, end='\n'):
        path = self.folder / 'made.csv'
        path.write_text(COLUMNS + '\n' + '\n'.join(rows) + end)
        return path

    def row(self, number, function='zeMemFree', change=0):
        return f'{number},{number},{function},9000,{5000 + number % 100},300,9000,1,0,{change},0,1,0,0,0,0,0,0,0,0,0,4096'

    def test_report_of_the_known_tools_csv(self):
        path = self.csv_with([self.row(1, 'zeMemAllocDevice'), self.row(2, change=-4), self.row(3, '<b>&', 20),
                              self.row(4, change=2048), '5,5,zeMemFree,9000'], end='')
        done = self.call('report', path, '--html', self.folder / 'known.html')
        self.assertIn('4 calls', done.stdout)
        self.assertIn('1 lines or records unreadable', done.stdout)
        self.assertIn('grew over 1 destroys by 2.00 MB', done.stdout)
        self.assertNotIn('<b>', self.check_html(self.folder / 'known.html', 12))

    def test_bad_files(self):
        path = self.folder / 'bad'
        for content in (b'', b'a,b,c\n1,2,3\n', COLUMNS.encode()[:-5] + b'\n', os.urandom(150000), b'\n' * 1000):
            path.write_bytes(content)
            self.assertIn('neither a CSV', self.call('report', path, status=1).stderr)
        self.assertIn('not a regular file', self.call('report', self.folder, status=1).stderr)
        garbage = self.csv_with(['x' * 100000, ',' * 21, ',' * 30, self.row(1).replace('5001', '1e99'),
                                 self.row(2).replace('4096', '-1'), self.row(3) + ',1', self.row(4)])
        self.assertIn('1 calls in 0.004 s, 6 lines or records unreadable', self.call('report', garbage).stdout)
        names = self.csv_with([self.row(i, f'f{i}') for i in range(6000)])
        self.assertIn('(others): 1904', self.call('report', names).stdout)

    def test_what_others_plant_in_the_folder(self):
        os.mkfifo(self.pages / '1-1.l0')
        (self.pages / '1-2.l0').symlink_to('/dev/zero')
        with open(self.pages / '1-3.l0', 'wb') as sparse:
            sparse.truncate(1 << 40)
        with open(self.pages / '1-4.l0', 'wb') as sparse:  # as a log, whose size is not what it takes
            sparse.write(struct.pack('<Q', 0) + b'\0' * 56)
            sparse.truncate(1 << 40)
        for action in (['report'], ['report', '--calls'], ['csv']):
            for file in sorted(self.pages.iterdir()):
                error = self.call(*action, file, status=1).stderr
                self.assertRegex(error, 'not a regular file|larger than|not a log|needs a log')
        self.assertIn('4 files rejected', self.call('list').stdout)

    def test_what_is_written_does_not_go_through_a_link(self):
        self.run_program('plain', flags=['--log', self.folder / 'x.log'])
        log = self.the_only('x_pid*.log')
        (self.folder / 'precious').write_text('text')
        (self.folder / 'link').symlink_to('precious')
        for arguments in (['csv', log, self.folder / 'link'], ['report', log, '--html', self.folder / 'link']):
            self.assertIn('a symbolic link is not followed', self.call(*arguments, status=1).stderr)
        self.assertEqual((self.folder / 'precious').read_text(), 'text')

    def test_names_do_not_reach_the_terminal(self):
        self.run_program('plain')
        [page] = self.pages.iterdir()
        with open(page, 'r+b') as file:
            content = file.read()
            comm = content.index(b'application_lin\0')
            file.seek(comm)
            file.write(b'\x1b[2J\x9b\n\xe2\x80\xae\xc2\x9bx\0\0\0')
        hostile = self.folder / '\u202e\x9b.csv'
        hostile.write_text(COLUMNS + '\n' + self.row(1, 'ze\x1b[31m\u2066') + '\n')
        for arguments in (['list'], ['report', page, '--html', self.folder / 'r.html'], ['report', hostile]):
            out = self.call(*arguments).stdout
            for bad in ('\x1b', '\x9b', '\u202e', '\u2066'):
                self.assertNotIn(bad, out)
            self.assertIn('?', out)
        self.assertNotIn('\u202e', (self.folder / 'r.html').read_text())
        bad = self.folder / '\x1b[2J'
        bad.write_text('')
        self.assertNotIn('\x1b', self.call('report', bad, status=1).stderr)

    def test_two_million_rows(self):
        path = self.csv_with((self.row(i) for i in range(2_000_000)))
        done = self.call('report', path, '--html', self.folder / 'big.html')
        self.assertIn('2000000 calls', done.stdout)
        self.assertLess((self.folder / 'big.html').stat().st_size, 1_000_000)

    def test_report_of_a_page(self):
        self.run_program('plain')
        [page] = self.pages.iterdir()
        self.assertIn('LEAK 1 memory_device', self.call('report', page).stdout)
        page.write_bytes(page.read_bytes()[:5000])
        self.call('report', page, status=1)

    def test_list_and_clean(self):
        self.run_program('plain')
        program = subprocess.Popen([PROGRAMS / 'application_linked', 'threads', '100000000'],
                                   env=environment(self.pages), stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while ' running ' not in self.call('list').stdout:
                self.assertIsNone(program.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.assertRegex(self.call('list').stdout, rf'(?m)^{program.pid} +application_lin +running ')
            self.assertRegex(self.call('list').stdout, r'(?m) +application_lin +exited .* 12345$')
            self.assertIn('1 pages of ended programs removed', self.call('clean').stdout)
            self.assertEqual([page.pid for page in pages(self.pages)], [program.pid])
        finally:
            program.kill()
            program.wait()
        self.call('list', '--path.level-zero', '/no/such/folder', status=1)

    def test_warnings_where_the_loader_hides_the_tracker(self):
        done = self.run_program('plain', ZEL_LIBRARY_PATH=str(self.folder))
        self.assertIn('ZEL_LIBRARY_PATH', done.stderr)
        self.assertTrue(TRACKER.is_dir())

    def test_warnings_where_the_dynamic_linker_ignores_the_environment(self):
        copy = pathlib.Path(shutil.copy('/bin/true', self.folder / 'true'))
        self.assertNotIn('dynamic linker', self.call('run', '--', copy).stderr)
        copy.chmod(0o4755)
        self.assertIn('set-user-id', self.call('run', '--', copy).stderr)
        copy.chmod(0o755)
        # CAP_NET_BIND_SERVICE, as setcap writes it: revision 2, permitted and effective.
        capability = struct.pack('<5I', 0x02000001, 1 << 10, 0, 0, 0)
        try:
            os.setxattr(copy, 'security.capability', capability)
        except PermissionError:
            self.skipTest('file capabilities need root')
        self.assertIn('has file capabilities', self.call('run', '--', copy).stderr)

    def test_arguments(self):
        self.assertIn('--fail-on-leak', self.call().stdout)
        self.assertIn('--fail-on-leak', self.call('run', '--help').stdout)
        for bad in (['runn'], ['run'], ['run', '--stacks', '0', '--', 'true'], ['run', '--csv'], ['list', 'x'], ['csv'],
                    ['report', '--csv', 'x'], ['report'], ['clean', '--all']):
            self.assertIn('level-zero', self.call(*bad, status=2).stderr)


if __name__ == '__main__':
    unittest.main(argv=['command'], verbosity=2)
