# SPDX-License-Identifier: Apache-2.0
"""Compares the ABI of the shared library with that of the last release, as stored in abi/libigpu.abi.xz.

    abi.py LIBRARY              LIBRARY is build/debug/collectors/libigpu.so: types are read from its debug information
    abi.py LIBRARY --update     stores LIBRARY's ABI instead: at a release, and with every new minor version before it

A program that was linked to the last release must run with this one. New functions pass. Every other difference fails: it
breaks programs, or it is a member at the end of a struct of igpu/c.h, which a person has to confirm with --update."""

import lzma
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STORED = f"{HERE}/abi/libigpu.abi.xz"
HEADERS = f"{HERE}/../../collectors/include"
ERROR = 1 | 2  # bits of abidiff's exit status


def abi_of(library):
    """The types that the public headers name and the functions that the library exports, as abidw writes them."""
    return subprocess.run(
        ["abidw", "--exported-interfaces-only", "--drop-private-types", "--headers-dir", HEADERS, "--no-corpus-path",
         "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names", os.path.realpath(library)],
        check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(before, after):
    """(exit status of abidiff, its report)"""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("before", before), ("after", after)):
            with open(f"{folder}/{name}.abi", "w") as f:
                f.write(text)
        done = subprocess.run(["abidiff", "--no-added-syms", f"{folder}/before.abi", f"{folder}/after.abi"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    if done.returncode & ERROR:
        sys.exit(f"abidiff failed:\n{done.stdout}")
    return done.returncode, done.stdout


def main():
    library = sys.argv[1]
    now = abi_of(library)
    if "igpu_open" not in now or "class-decl name='Snapshot'" not in now:
        sys.exit(f"{library} has no debug information, or it is not libigpu")
    if "--update" in sys.argv[2:]:
        with open(STORED, "wb") as f:
            f.write(lzma.compress(now.encode(), preset=9))
        print(f"{STORED}: {os.path.getsize(STORED)} bytes")
        return
    with lzma.open(STORED, "rt") as f:
        stored = f.read()

    # The comparison sees what breaks programs: a function that is gone, and a member that moved.
    row = stored.index("<class-decl name='igpu_feature'")
    moved = stored[:row] + stored[row:].replace("layout-offset-in-bits='192'", "layout-offset-in-bits='224'", 1)
    gone = stored.replace("'igpu_open'", "'igpu_opened'")
    for what, changed in (("a member that moved", moved), ("a function that is gone", gone)):
        if changed == stored or not compare(stored, changed)[0]:
            sys.exit(f"abidiff does not report {what}")

    status, report = compare(stored, now)
    if status:
        sys.exit(f"{report}\nPrograms that are linked to the last release may break. Keep its interface, or begin a new minor version in\n"
                 f"CHANGELOG.md, which changes the library's name. Then store its ABI: python3 {sys.argv[0]} {library} --update")
    print("programs that are linked to the last release run with this library")


main()
