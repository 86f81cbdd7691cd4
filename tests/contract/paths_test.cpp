// SPDX-License-Identifier: Apache-2.0
// What documents, comments and build files name exists: a renamed file is not looked for in vain.
#include "support/paths.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = igpu::test::source_folder();

std::vector<fs::path> files_with_text() {
  static const std::set<std::string> extensions = {".md", ".cpp", ".h", ".c", ".py", ".cmake", ".txt", ".yml", ".yaml"};
  std::vector<fs::path> files;
  for (const char* const folder :
       {".", "cmake", "collectors", "deploy", "docs", "exporter", "grafana", "tests", "third_party"}) {
    const auto add = [&](const fs::path& path) {
      const std::string name = fs::relative(path, kRoot).string();
      // What machines answered and what tests expect is not about this tree; the change log names what there was.
      const bool ours = !name.starts_with("tests/machines") && !name.starts_with("tests/fuzz/corpus") &&
                        !name.starts_with("tests/golden") && !name.starts_with("CHANGELOG");
      if (ours && fs::is_regular_file(path) && extensions.contains(path.extension())) files.push_back(path);
    };
    if (std::string(folder) == ".")
      for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
    else
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) add(entry.path());
  }
  return files;
}

// Calls f(line, number) for each line of a file.
template <class F>
void for_each_line(const fs::path& path, F&& f) {
  std::ifstream file(path);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) f(line, ++number);
}

}  // namespace

// Files of other projects, and a test's name.
const std::set<std::string> kElsewhere = {"docs/sphinx/xpu-smi",       "docs/installation.md",
                                          "docs/web-configuration.md", "docs/system/hardware-metrics.md",
                                          "tests/data.json",           "grafana/check"};

TEST_SUITE_BEGIN("paths");

TEST_CASE("paths from the root of this tree exist") {
  static const std::regex path(
      R"((^|[^A-Za-z0-9_./<>*$}@-])((collectors|exporter|tests|docs|cmake|third_party|grafana)/[A-Za-z0-9_./-]*[A-Za-z0-9_])(?![A-Za-z0-9_<>*$%{?]))");
  std::size_t seen = 0;
  for (const fs::path& file : files_with_text()) {
    for_each_line(file, [&](const std::string& line, std::size_t number) {
      for (std::sregex_iterator found(line.begin(), line.end(), path), end; found != end; ++found) {
        const std::string name = (*found)[2];
        if (name.find("NAME") != std::string::npos || name.find("TOPIC") != std::string::npos ||
            kElsewhere.contains(name))
          continue;
        ++seen;
        INFO(fs::relative(file, kRoot).string() << ":" << number << " names " << name);
        const bool program = fs::exists(kRoot / (name + ".cpp")) || fs::exists(kRoot / (name + ".py"));
        CHECK((fs::exists(kRoot / name) || program));
      }
    });
  }
  CHECK(seen > 300);
}

TEST_CASE("headers and sources that comments name exist") {
  static const std::regex named(R"(([a-z0-9_]+(?:/[a-z0-9_]+)+\.(?:h|cpp))\b)");
  std::size_t seen = 0;
  for (const char* const top : {"collectors", "exporter"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".md") continue;
      for_each_line(entry.path(), [&](const std::string& line, std::size_t number) {
        const std::size_t comment = extension == ".md" ? 0 : line.find("//");
        if (comment == std::string::npos) return;
        const std::string text = line.substr(comment);
        for (std::sregex_iterator found(text.begin(), text.end(), named), end; found != end; ++found) {
          const std::string name = (*found)[1];
          // Of the kernel, of the C library, of Windows, of igt-gpu-tools.
          static const std::set<std::string> others = {
              "drivers", "include", "uapi", "linux", "drm", "sys", "kernel", "fs",     "mm",       "lib",    "tools",
              "arch",    "net",     "xe",   "i915",  "asm", "bpf", "shared", "d3dkmt", "elfutils", "generic"};
          const std::string first = name.substr(0, name.find('/'));
          const bool here = fs::exists(kRoot / top / name) || fs::exists(kRoot / name) ||
                            fs::exists(kRoot / "collectors" / name) ||
                            fs::exists(kRoot / "collectors/include" / name) ||
                            fs::exists(entry.path().parent_path() / name) || fs::exists(kRoot / "exporter" / name);
          if (!here && others.contains(first)) continue;
          ++seen;
          INFO(fs::relative(entry.path(), kRoot).string() << ":" << number << " names " << name);
          CHECK(here);
        }
      });
    }
  }
  CHECK(seen > 50);
}

// A README beside files names them without their folder.
TEST_CASE("files that a README of a room names exist below it") {
  static const std::regex quoted(R"(`([a-z0-9_]+\.(?:h|cpp|c|py|tsv|inc|js|css))`)");
  std::size_t seen = 0;
  for (const char* const top : {"collectors", "exporter"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.path().filename() != "README.md") continue;
      std::set<std::string> below;
      for (const auto& file : fs::recursive_directory_iterator(entry.path().parent_path()))
        below.insert(file.path().filename());
      for_each_line(entry.path(), [&](const std::string& line, std::size_t number) {
        for (std::sregex_iterator found(line.begin(), line.end(), quoted), end; found != end; ++found) {
          ++seen;
          INFO(fs::relative(entry.path(), kRoot).string() << ":" << number << " names " << (*found)[1].str());
          CHECK(below.contains((*found)[1]));
        }
      });
    }
  }
  CHECK(seen > 20);
}

TEST_SUITE_END();
