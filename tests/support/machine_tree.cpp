// SPDX-License-Identifier: Apache-2.0
#include "support/machine_tree.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/machine_archive.h"

namespace fs = std::filesystem;

namespace igpu::test {

namespace {

constexpr std::array<std::string_view, 3> kRoots{"sys", "proc", "dev"};

}  // namespace

MachineTree::MachineTree() {
  const fs::path base = fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
  std::string name = (base / "igpu-tree-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory below " + base.string());
  root_ = name;
  fs::permissions(root_, fs::perms(0755));  // children of tests read it as other users
  for (const std::string_view folder : kRoots) fs::create_directory(root_ / folder);
}

MachineTree::~MachineTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void MachineTree::write(const std::string& path, std::string_view content) {
  fs::create_directories((root_ / path).parent_path());
  std::ofstream file(root_ / path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

void MachineTree::link(const std::string& path, const std::string& target) {
  fs::create_directories((root_ / path).parent_path());
  fs::remove(root_ / path);
  fs::create_symlink(target, root_ / path);
}

void MachineTree::make_directory(const std::string& path) { fs::create_directories(root_ / path); }
void MachineTree::remove(const std::string& path) { fs::remove_all(root_ / path); }
void MachineTree::move(const std::string& from, const std::string& to) { fs::rename(root_ / from, root_ / to); }
void MachineTree::set_mode(const std::string& path, unsigned mode) { fs::permissions(root_ / path, fs::perms(mode)); }
bool MachineTree::exists(const std::string& path) const {
  return fs::symlink_status(root_ / path).type() != fs::file_type::not_found;
}

std::string MachineTree::read(const std::string& path) const {
  std::ifstream file(root_ / path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void MachineTree::lay_out(const std::string& captured_machine) {
  MachineArchive archive = parse_archive(read_file(machine_archive_path(captured_machine)));
  std::erase_if(archive, [](const ArchiveEntry& entry) {
    return std::none_of(kRoots.begin(), kRoots.end(),
                        [&](std::string_view root) { return entry.path.starts_with(std::string(root) + "/"); });
  });
  unpack(archive, root_);
}

}  // namespace igpu::test
