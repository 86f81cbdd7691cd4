# SPDX-License-Identifier: Apache-2.0
"""cmake/version.cmake in its own repositories: a build's version with a tag, without a tag, with changes, and without git."""

import os
import shutil
import tempfile

from checks import SOURCE, equal, finish, output, run

PROJECT = """cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_SOURCE_DIR}/cmake/version.cmake")
project(probe VERSION "${IGPU_VERSION}" LANGUAGES NONE)
message(STATUS "answer: ${PROJECT_VERSION} ${IGPU_PACKAGE_VERSION} ${IGPU_REVISION}")
"""


class Repository:
    def __init__(self):
        self.path = tempfile.mkdtemp()
        os.makedirs(f"{self.path}/cmake")
        shutil.copy(f"{SOURCE}/cmake/version.cmake", f"{self.path}/cmake/")
        self.write("CMakeLists.txt", PROJECT)
        self.write(".gitignore", "build/\n")
        self.write("CHANGELOG.md", "# Changelog\n\n## 1.3.0 (unreleased)\n\n* x\n\n## 1.2.0\n")

    def write(self, name, text):
        with open(f"{self.path}/{name}", "w") as f:
            f.write(text)

    def git(self, *arguments):
        return output("git", "-C", self.path, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false",
                      *arguments).strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "--short=7", "HEAD")

    def called(self, *options):
        """(version, package version, revision)"""
        shutil.rmtree(f"{self.path}/build", ignore_errors=True)
        text = output("cmake", "-S", self.path, "-B", f"{self.path}/build", *options)
        return tuple(next(l for l in text.splitlines() if "answer: " in l).split("answer: ")[1].split())


def older(first, second):
    return run("dpkg", "--compare-versions", first, "lt", second, check_status=False)[0] == 0


def main():
    repository = Repository()
    try:
        equal("without git: the changelog's version", repository.called(), ("1.3.0", "1.3.0", "unknown"))
        equal("from a tarball that says so", repository.called("-DIGPU_REVISION_OVERRIDE=v1.2.9"), ("1.2.9", "1.2.9", "v1.2.9"))
        repository.git("init", "-q")
        first = repository.commit()
        snapshot = repository.called()
        equal("without a tag: a snapshot of the version that is worked on", snapshot, ("1.3.0", f"1.3.0~git1.{first}", first))
        second = repository.commit()
        later = repository.called()
        equal("the next commit", later, ("1.3.0", f"1.3.0~git2.{second}", second))
        equal("is newer than the one before, and older than the release", (older(snapshot[1], later[1]), older(later[1], "1.3.0")),
              (True, True))
        repository.git("tag", "v1.3.0")
        equal("a tag is the version", repository.called(), ("1.3.0", "1.3.0", "v1.3.0"))
        repository.write("CHANGELOG.md", "# Changelog\n\n## 1.4.0 (unreleased)\n")
        equal("a changed tree is no release", repository.called(), ("1.4.0", f"1.4.0~git2.{second}.modified", "v1.3.0-modified"))
        third = repository.commit()
        after = repository.called()
        equal("after a release: the tag, the distance, the commit", after, ("1.4.0", f"1.4.0~git3.{third}", f"v1.3.0-1-g{third}"))
        equal("and newer than the release", older("1.3.0", after[1]), True)
        repository.git("tag", "nightly")
        equal("other tags say nothing", repository.called(), after)
    finally:
        shutil.rmtree(repository.path)
    finish()


main()
