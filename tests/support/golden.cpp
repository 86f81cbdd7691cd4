// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "support/machine_archive.h"
#include "support/paths.h"

namespace igpu::test {

bool updates_goldens() {
  const char* value = std::getenv("IGPU_UPDATE");
  return value != nullptr && std::string_view(value) == "1";
}

void compare_with_golden(const std::string& file, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(source_folder()) / file;
  if (updates_goldens()) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  REQUIRE_MESSAGE(std::filesystem::exists(path), file << " is missing: IGPU_UPDATE=1 writes it");
  const std::string golden = read_file(path);
  CHECK(golden.empty() == text.empty());
  std::istringstream were(golden), are(text);
  for (int number = 1; were && are; ++number) {
    std::string was = "(end of file)", is = "(end of file)";
    std::getline(were, was);
    std::getline(are, is);
    if (was == is) continue;
    FAIL_CHECK(file << ":" << number << ", which IGPU_UPDATE=1 rewrites\n  golden: " << was << "\n  now:    " << is);
    return;
  }
  CHECK(golden == text);  // they differ in their last line's end
}

}  // namespace igpu::test
