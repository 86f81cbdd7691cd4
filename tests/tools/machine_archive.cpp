// SPDX-License-Identifier: Apache-2.0
// Packs a captured machine into one text file and unpacks it. The format: tests/machines/README.md.
#include "support/machine_archive.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kUsage =
    "usage: machine_archive pack FOLDER FILE     write the tree of FOLDER into the archive FILE\n"
    "       machine_archive unpack FILE FOLDER   write the archive's tree into FOLDER, which must be empty or new\n";

void pack(const fs::path& folder, const fs::path& file) {
  const std::string text = igpu::test::format_archive(igpu::test::read_folder(folder));
  (void)igpu::test::parse_archive(text);  // what unpack would refuse is not packed
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

void unpack(const fs::path& file, const fs::path& folder) {
  const igpu::test::MachineArchive archive = igpu::test::parse_archive(igpu::test::read_file(file));
  fs::create_directories(folder);
  if (!fs::is_empty(folder)) throw std::runtime_error(folder.string() + " is not empty");
  igpu::test::unpack(archive, folder);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc == 4 ? argv[1] : "";
  if (command != "pack" && command != "unpack") {
    std::fputs(kUsage.data(), stderr);
    return 2;
  }
  try {
    command == "pack" ? pack(argv[2], argv[3]) : unpack(argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "machine_archive: %s: %s\n", argv[2], error.what());
    return 1;
  }
  return 0;
}
