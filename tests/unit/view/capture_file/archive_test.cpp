// SPDX-License-Identifier: Apache-2.0
// Archives that somebody made to do harm are rejected with one line.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <numeric>
#include <sstream>

#include "support/scratch_folder.h"
#include "view/capture_file/capture_file.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

struct Member {
  std::string path, content;
  char kind = '0';  // tar's own letters
  std::string link = {};
};

constexpr char kHardLink = '1', kLink = '2', kCharacterDevice = '3', kBlockDevice = '4', kDirectory = '5', kFifo = '6',
               kLongPath = 'L', kSparse = 'S', kGlobalHeader = 'g';

void put(std::string& header, std::size_t at, const std::string& text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

std::string octal(std::size_t number) {
  std::ostringstream text;
  text << std::oct << std::setfill('0') << std::setw(11) << number;
  return text.str();
}

std::string tar_member(const Member& member) {
  std::string bytes;
  if (member.path.size() > 100) bytes = tar_member({"long", member.path, kLongPath});
  std::string header(512, '\0');
  put(header, 0, member.path.substr(0, 100));
  put(header, 100, "0000644");
  put(header, 124, octal(member.content.size()));
  put(header, 148, std::string(8, ' '));
  header[156] = member.kind;
  put(header, 157, member.link);
  put(header, 257, "ustar  ");
  if (member.kind == kSparse) put(header, 386, octal(8) + '\0' + octal(member.content.size()) + '\0');
  if (member.kind == kSparse) put(header, 483, "77777777777");
  const std::size_t sum = std::accumulate(header.begin(), header.end(), std::size_t{0}, [](std::size_t total, char c) {
    return total + static_cast<unsigned char>(c);
  });
  put(header, 148, octal(sum).substr(5));
  bytes += header + member.content;
  return bytes.append((512 - bytes.size() % 512) % 512, '\0');
}

std::string compressed(const std::string& plain) {
  std::string bytes(ZSTD_compressBound(plain.size()), '\0');
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), plain.data(), plain.size(), 1));
  return bytes;
}

std::string archive_of(const std::vector<Member>& members) {
  std::string plain;
  for (const Member& member : members) plain += tar_member(member);
  return compressed(plain.append(1024, '\0'));
}

std::string refusal(const std::string& bytes, const ArchiveLimits& limits = {}) {
  try {
    (void)read_archive(bytes, limits);
  } catch (const CaptureError& error) {
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
  CaptureFiles files{{"1/sys/a", "one\n"}, {"1/sys/b/c", std::string(100'000, 'x')}, {"empty", ""}};
  for (const std::size_t size : {99U, 100U, 101U, 155U, 256U, 989U, 1000U, 1024U})
    files[std::string(size, 'p')] = "long";
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
  CHECK(contains(refusal(archive_of({{"a", "", kLink, "/etc/passwd"}})), "is a link"));
  CHECK(contains(refusal(archive_of({{"a", "x"}, {"b", "", kHardLink, "a"}})), "is a hard link"));
  CHECK(contains(refusal(archive_of({{"a", "", kCharacterDevice}})), "is a device"));
  CHECK(contains(refusal(archive_of({{"a", "", kBlockDevice}})), "is a device"));
  CHECK(contains(refusal(archive_of({{"a", "", kFifo}})), "is not a regular file"));
  CHECK(contains(refusal(archive_of({{"a", "", kDirectory}})), "is a directory"));
}

TEST_CASE("an archive with two files of one path, or a file below a file, is rejected") {
  CHECK(contains(refusal(archive_of({{"a", "x"}, {"a", "y"}})), "twice"));
  CHECK(contains(refusal(archive_of({{"a", "x"}, {"a/b", "y"}})), "a file and a folder"));
  CHECK(contains(refusal(archive_of({{"a/b", "x"}, {"a", "y"}})), "a file and a folder"));
  CHECK(contains(refusal(archive_of({{"a", "x"}, {"a!", "y"}, {"a/b", "z"}})), "a file and a folder"));
}

TEST_CASE("an archive of deep folders is read without comparing each folder with every file") {
  std::string deep;
  for (int i = 0; i < 400; ++i) deep += "a/";
  std::string plain;
  for (int i = 0; i < 20'000; ++i) plain += tar_member({deep + std::to_string(i), ""});
  const std::clock_t before = std::clock();
  CHECK(read_archive(compressed(plain.append(1024, '\0'))).size() == 20'000);
  CHECK((std::clock() - before) / CLOCKS_PER_SEC < 10);  // processor time; it was a minute
}

TEST_CASE("an archive that grows beyond the limits is rejected") {
  const std::string bomb = archive_of({{"a", std::string(8 << 20, '\0')}});
  CHECK(bomb.size() < 10'000);
  CHECK(contains(refusal(bomb, {.file_bytes = 1 << 20}), "exceeds the limit"));
  CHECK(contains(refusal(bomb, {.total_bytes = 1 << 20}), "exceeds the limit"));
  CHECK(contains(refusal(archive_of({{"a", "x", kSparse}})), "exceeds the limit"));  // 8 GiB of holes
  CHECK(contains(refusal(archive_of({{"a", ""}, {"b", ""}, {"c", ""}}), {.files = 2}), "too many files"));
  CHECK(contains(refusal(archive_of({{std::string(2000, 'n'), ""}})), "too long"));
  const Member header{"comment", "524300 comment=" + std::string(524'284, 'c') + '\n', kGlobalHeader};
  const std::string headers = archive_of({header, {"a", ""}, header, {"b", ""}, header, {"c", ""}});
  CHECK(headers.size() < 2000);
  CHECK(refusal(headers) == "accepted");
  CHECK(contains(refusal(headers, {.stream_bytes = 1 << 20}), "headers exceed the limit"));
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
