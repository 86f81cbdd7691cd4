// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "platform/regular_file.h"
#include "support/scratch_folder.h"

using namespace igpu::exporter;
using igpu::test::ScratchFolder;
using Existing = NewFile::Existing;
namespace fs = std::filesystem;

namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::ptrdiff_t entries(const ScratchFolder& folder) {
  return std::distance(fs::directory_iterator(folder.path("")), fs::directory_iterator());
}

}  // namespace

TEST_SUITE_BEGIN("new_file");

TEST_CASE("a file appears whole, with its mode, and replaces one that is there") {
  const ScratchFolder folder;
  const std::string path = folder.path("gpu.prom");
  for (const std::string text : {"first", "2"}) {
    NewFile file(path, 0644);
    CHECK(content(path) != text);
    file.finish(text, Existing::is_replaced);
    CHECK(content(path) == text);
    CHECK(entries(folder) == 1);
  }
  CHECK(fs::status(path).permissions() == fs::perms(0644));
}

TEST_CASE("what must not be replaced stays, and nothing is left beside it") {
  const ScratchFolder folder;
  folder.write("file", "precious");
  fs::create_symlink("file", folder.path("link"));
  fs::create_directory(folder.path("folder"));
  CHECK_THROWS_WITH_AS(NewFile(folder.path("file"), 0600).finish("x", Existing::stays), "File exists", FileError);
  CHECK_THROWS_WITH_AS(NewFile(folder.path("link"), 0600).finish("x", Existing::is_replaced),
                       "a symbolic link is not followed; name the file itself", FileError);
  CHECK_THROWS_WITH_AS(NewFile(folder.path("folder"), 0600).finish("x", Existing::is_replaced), "not a regular file",
                       FileError);
  CHECK_THROWS_WITH_AS(NewFile(folder.path("none/file"), 0600), "No such file or directory", FileError);
  CHECK(content(folder.path("file")) == "precious");
  CHECK(entries(folder) == 3);
}

TEST_CASE("a file that is not finished leaves nothing") {
  const ScratchFolder folder;
  {
    const NewFile file(folder.path("file"), 0600);
    CHECK(entries(folder) == 1);
  }
  CHECK(entries(folder) == 0);
}

TEST_SUITE_END();
