// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "platform/regular_file.h"
#include "support/recording_log.h"
#include "support/scratch_folder.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

int error_of(const std::string& path) {
  try {
    read_config_file(path, "the file");
  } catch (const FileError& error) {
    CHECK(std::string_view(error.what()).starts_with("the file "));
    return error.error();
  }
  return -1;
}

constexpr ReloadLog::Messages kMessages{.invalid = "invalid", .reloaded = "reloaded", .valid_again = "valid again"};

}  // namespace

TEST_SUITE_BEGIN("watched files");

TEST_CASE("a regular file of up to 1 MiB is read, everything else is an error") {
  const ScratchFolder folder;
  CHECK(read_config_file(folder.write("a", "text"), "the file") == "text");
  CHECK(read_config_file(folder.write("largest", std::string(1U << 20, 'x')), "the file").size() == 1U << 20);
  CHECK(error_of(folder.write("too large", std::string((1U << 20) + 1, 'x'))) == 0);
  CHECK(error_of(folder.path("missing")) == ENOENT);
  CHECK(error_of(folder.path("")) == EISDIR);
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  CHECK(error_of(folder.path("fifo")) == 0);
}

TEST_CASE("a file written just before may have changed, an old one has not") {
  const ScratchFolder folder;
  const auto stamps_of = [](const std::string& path) {
    FileStamps stamps;
    stamps.add(path);
    return stamps;
  };
  CHECK(stamps_of(folder.write("new", "1")).may_have_changed());
  CHECK_FALSE(FileStamps().may_have_changed());

  FileStamps missing = stamps_of(folder.path("later"));
  CHECK_FALSE(missing.may_have_changed());
  folder.write("later", "1");
  CHECK(missing.may_have_changed());

  // The kernel sets the time of the last change: only a file of the system is old enough.
  FileStamps old = stamps_of("/bin/sh");
  CHECK_FALSE(old.may_have_changed());
}

TEST_CASE("an error is logged once, then the recovery") {
  RecordingLog log;
  ReloadLog reload(log, kMessages, "/etc/file", "correct it");
  reload.succeeded(false);
  CHECK(log.lines().empty());
  reload.succeeded(true);
  CHECK(log.lines().back().text == "reloaded file=/etc/file");
  reload.failed("one");
  reload.failed("one");
  CHECK(log.count(LogLevel::error) == 1);
  CHECK(log.lines().back().text == "invalid error=one hint=correct it");
  reload.failed("two");
  CHECK(log.count(LogLevel::error) == 2);
  reload.succeeded(false);
  CHECK(log.lines().back().text == "valid again file=/etc/file");
  CHECK(log.lines().size() == 4);
}

TEST_SUITE_END();
