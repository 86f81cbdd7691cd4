// SPDX-License-Identifier: Apache-2.0
// Archives that somebody made to do harm are rejected with one line.
#include "capture/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "capture/capture_file.h"
#include "support/scratch_folder.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

struct Member {
  std::string path, content;
  unsigned type = AE_IFREG;
  std::string link = {};
  bool hard = false;
};

std::string archive_of(const std::vector<Member>& members) {
  std::string bytes(16 << 20, '\0');
  std::size_t used = 0;
  archive* const writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  archive_write_add_filter_zstd(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  REQUIRE(archive_write_open_memory(writer, bytes.data(), bytes.size(), &used) == ARCHIVE_OK);
  for (const Member& member : members) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.path.c_str());
    archive_entry_set_filetype(entry, member.type);
    archive_entry_set_perm(entry, 0644);
    if (!member.link.empty() && member.hard) archive_entry_set_hardlink(entry, member.link.c_str());
    if (!member.link.empty() && !member.hard) archive_entry_set_symlink(entry, member.link.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    REQUIRE(archive_write_header(writer, entry) == ARCHIVE_OK);
    archive_write_data(writer, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  bytes.resize(used);
  return bytes;
}

std::string refusal(const std::string& bytes, const ArchiveLimits& limits = {}) {
  try {
    (void)read_archive(bytes, limits);
  } catch (const ArchiveError& error) {
    const std::string text = error.what();
    CHECK(text.find('\n') == std::string::npos);
    CHECK(text.size() < 300);
    return text;
  }
  return "accepted";
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("capture archives");

TEST_CASE("files come out of an archive as they went in, and the same files make the same bytes") {
  const CaptureFiles files{{"1/sys/a", "one\n"}, {"1/sys/b/c", std::string(100'000, 'x')}, {"empty", ""}};
  const std::string bytes = write_archive(files);
  CHECK(read_archive(bytes) == files);
  CHECK(write_archive(files) == bytes);
  CHECK(bytes.size() < 2000);
}

TEST_CASE("an archive with a path that leaves it is rejected") {
  for (const char* const path :
       {"../a", "/etc/passwd", "a/../../b", "a//b", "./a", "a/.", "..", "a\\b", "a\tb", "a\nb"}) {
    CAPTURE(path);
    CHECK(contains(refusal(archive_of({{path, "x"}})), "a path that is not plain"));
  }
}

TEST_CASE("an archive with anything but regular files is rejected") {
  CHECK(contains(refusal(archive_of({{"a", "", AE_IFLNK, "/etc/passwd"}})), "is a link"));
  CHECK(contains(refusal(archive_of({{"a", "x"}, {"b", "", AE_IFREG, "a", true}})), "is a hard link"));
  CHECK(contains(refusal(archive_of({{"a", "", AE_IFCHR}})), "is a device"));
  CHECK(contains(refusal(archive_of({{"a", "", AE_IFBLK}})), "is a device"));
  CHECK(contains(refusal(archive_of({{"a", "", AE_IFIFO}})), "is not a regular file"));
  CHECK(contains(refusal(archive_of({{"a", "", AE_IFDIR}})), "is a directory"));
}

TEST_CASE("an archive with two files of one path, or a file below a file, is rejected") {
  CHECK(contains(refusal(archive_of({{"a", "x"}, {"a", "y"}})), "twice"));
  CHECK(contains(refusal(archive_of({{"a", "x"}, {"a/b", "y"}})), "twice"));
  CHECK(contains(refusal(archive_of({{"a/b", "x"}, {"a", "y"}})), "twice"));
}

TEST_CASE("an archive that grows beyond the limits is rejected") {
  const std::string bomb = archive_of({{"a", std::string(8 << 20, '\0')}});
  CHECK(bomb.size() < 10'000);
  CHECK(contains(refusal(bomb, {.file_bytes = 1 << 20}), "exceeds the limit"));
  CHECK(contains(refusal(bomb, {.total_bytes = 1 << 20}), "exceeds the limit"));
  CHECK(contains(refusal(archive_of({{"a", ""}, {"b", ""}, {"c", ""}}), {.files = 2}), "too many files"));
  CHECK(contains(refusal(archive_of({{std::string(2000, 'n'), ""}})), "too long"));
}

TEST_CASE("bytes that are not an archive, and every beginning of one, are rejected") {
  for (const char* const bytes : {"", "x", "not an archive at all, however long it is"})
    CHECK(refusal(bytes) != "accepted");
  const std::string whole = write_archive({{"capture", std::string(3000, 'c')}, {"1/index", "start 0\n"}});
  CHECK(refusal(whole) == "accepted");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal(whole.substr(0, size)) != "accepted");
  }
}

TEST_CASE("a capture is written for its owner only, and replaces nothing") {
  const ScratchFolder folder;
  const std::string path = folder.path("a.tar.zst");
  const CaptureFiles files{{"capture", "intel-gpu-exporter capture, format 1\n"}, {"1/index", "start 0\n"}};
  check_destination(path);
  save_capture(path, files);
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777U) == 0600);
  CHECK(*load_capture(path) == files);
  CHECK_THROWS_WITH(check_destination(path), doctest::Contains("File exists"));
  CHECK_THROWS_WITH(save_capture(path, files), doctest::Contains("File exists"));
  CHECK_THROWS_WITH(check_destination(folder.path("nowhere/a")), doctest::Contains("No such file"));
  const std::filesystem::directory_iterator entries(folder.path("."));
  CHECK(std::distance(std::filesystem::begin(entries), std::filesystem::end(entries)) ==
        1);  // no temporary file is left
}

TEST_CASE("only a regular file is opened as a capture") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(load_capture(folder.path(".")), doctest::Contains("not a regular file"));
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(load_capture(pipe), doctest::Contains("not a regular file"));
  CHECK_THROWS_WITH(load_capture(folder.path("none")), doctest::Contains("No such file"));
  const std::string text = folder.path("text");
  std::ofstream(text) << "hello\n";
  CHECK_THROWS_WITH(load_capture(text), doctest::Contains("not a .tar.zst archive"));
}

TEST_SUITE_END();
