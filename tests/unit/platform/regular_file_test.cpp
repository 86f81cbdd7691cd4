// SPDX-License-Identifier: Apache-2.0
#include "platform/regular_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/scratch_folder.h"

using namespace igpu::exporter;
using igpu::UniqueFd;
using igpu::test::ScratchFolder;

TEST_SUITE_BEGIN("regular files");

TEST_CASE("only a regular file is read, also behind a link") {
  const ScratchFolder folder;
  CHECK(read_regular_file(folder.write("a", "text"), 4) == "text");
  std::filesystem::create_symlink("a", folder.path("link"));
  CHECK(read_regular_file(folder.path("link"), 4) == "text");
  CHECK(RegularFile(folder.path("a")).first(2) == "te");
  CHECK(RegularFile(folder.path("a")).first(100) == "text");

  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", folder.path("zero"));
  for (const char* name : {"fifo", "zero", "."}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(read_regular_file(folder.path(name), 1 << 20), doctest::Contains("not a regular file"),
                         FileError);
  }
  CHECK_THROWS_WITH_AS(read_regular_file(folder.path("none"), 4), "No such file or directory", FileError);
}

TEST_CASE("a file that is larger than it may be takes no memory") {
  const ScratchFolder folder;
  const std::string path = folder.write("sparse", "text");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  CHECK_THROWS_WITH_AS(read_regular_file(path, 3 << 20), "larger than 3 MiB", FileError);
  CHECK(RegularFile(path).first(4) == "text");
}

TEST_CASE("a file to write is the one that was named, and is there") {
  const ScratchFolder folder;
  const std::string path = folder.path("new");
  {
    const UniqueFd file = open_to_write(path);
    CHECK((::fcntl(file.get(), F_GETFL) & O_NONBLOCK) == 0);
    REQUIRE(::write(file.get(), "text", 4) == 4);
  }
  (void)open_to_write(path);
  CHECK(read_regular_file(path, 4) == "text");
  std::filesystem::create_symlink("new", folder.path("link"));
  CHECK_THROWS_WITH_AS(open_to_write(folder.path("link")), doctest::Contains("a symbolic link is not followed"),
                       FileError);
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(open_to_write(folder.path("fifo")), "a FIFO that nothing reads", FileError);
}

TEST_SUITE_END();
