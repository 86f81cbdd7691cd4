# SPDX-License-Identifier: Apache-2.0
"""Runs the applications over the fake driver with the tracker inside."""
import os
import pathlib
import resource
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
PROGRAMS = BUILD / 'tests' / 'level_zero'
TRACKER = BUILD / 'level-zero'
# Another loader than the system's: a folder with libze_loader.so.1 and its layers.
LOADER = os.environ.get('LEVEL_ZERO_LOADER')
# Under an auditor, ThreadSanitizer's library finds no room for its thread-local storage.
WAYS = ('path', 'preload') if '--thread-sanitizer' in sys.argv else ('path', 'preload', 'audit')


def environment(folder, way='path', **more):
    path = [str(LOADER)] if LOADER else []
    variables = {
        'PATH': os.environ['PATH'],
        'ZE_ENABLE_ALT_DRIVERS': str(PROGRAMS / 'libfake_driver.so'),
        'INTEL_GPU_EXPORTER_PATH_LEVEL_ZERO': str(folder),
        **{k: v for k, v in os.environ.items() if k.endswith('SAN_OPTIONS')},
    }
    if way in ('path', 'audit'):
        variables['ZE_ENABLE_VALIDATION_LAYER'] = '1'
    if way == 'path':
        path.insert(0, str(TRACKER))
    if way == 'preload':
        variables['LD_PRELOAD'] = str(TRACKER / 'liblevel_zero_preload.so')
        # The preloaded library comes before a sanitizer's own, which that one does not like; it does no harm.
        variables['ASAN_OPTIONS'] = variables.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
    if way == 'audit':
        variables['LD_AUDIT'] = str(TRACKER / 'liblevel_zero_audit.so')
    if path:
        variables['LD_LIBRARY_PATH'] = ':'.join(path)
    # A leak is what these programs are for: the fake driver's handles are memory.
    variables['ASAN_OPTIONS'] = variables.get('ASAN_OPTIONS', '') + ':detect_leaks=0:handle_segv=0:handle_abort=0'
    variables['TSAN_OPTIONS'] = variables.get('TSAN_OPTIONS', '') + ':handle_segv=0:handle_abort=0'
    variables.update(more)
    return variables


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(program, *arguments, env, before=no_core, wrapper=()):
    """(exit status, output)"""
    done = subprocess.run([*wrapper, PROGRAMS / program, *arguments], env=env, preexec_fn=before, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout
