// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace igpu::test {

// A folder of its own for one test, gone with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "igpu-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(std::string_view name) const { return (path_ / name).string(); }

  // As careful programs write: never half a file to be seen. Returns the path.
  std::string write(std::string_view name, std::string_view content) const {
    const std::string temporary = path(std::string(name) + ".new");
    std::ofstream(temporary, std::ios::binary) << content;
    std::filesystem::rename(temporary, path(name));
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace igpu::test
