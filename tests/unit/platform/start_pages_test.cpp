// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "platform/own_process.h"

using namespace igpu::exporter;

namespace {

long resident_kilobytes_of_files() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:")) return std::stol(line.substr(8));
  throw std::runtime_error("no RssFile");
}

}  // namespace

TEST_SUITE_BEGIN("start_pages");

TEST_CASE("pages of files are unmapped, and come back when they are used") {
  const long before = resident_kilobytes_of_files();
  unmap_start_pages();
  const long after = resident_kilobytes_of_files();
  CHECK(after < before);
  for (int i = 0; i < 3; ++i) unmap_start_pages();
  CHECK_THROWS_WITH_AS(throw std::runtime_error("tables of the unwinder"), "tables of the unwinder",
                       std::runtime_error);
  CHECK(std::to_string(0.5) == "0.500000");
}

TEST_SUITE_END();
