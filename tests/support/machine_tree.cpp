// SPDX-License-Identifier: Apache-2.0
#include "support/machine_tree.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace igpu::test {

MachineTree::MachineTree() {
  const fs::path base = fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
  std::string name = (base / "igpu-tree-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory below " + base.string());
  root_ = name;
  fs::permissions(root_, fs::perms(0755));  // children of tests look in as other users
  for (const char* folder : {"sys", "proc", "dev"}) fs::create_directory(root_ / folder);
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
  const fs::path from = fs::path(IGPU_SOURCE_DIR) / "tests/machines" / captured_machine;
  for (const char* folder : {"sys", "proc", "dev"}) {
    if (!fs::exists(from / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(from / folder)) {
      const fs::path to = root_ / fs::relative(entry.path(), from);
      if (entry.is_directory()) {
        fs::create_directories(to);
      } else {
        fs::create_directories(to.parent_path());
        fs::copy_file(entry.path(), to, fs::copy_options::overwrite_existing);
        fs::permissions(to, fs::perms::owner_write, fs::perm_options::add);
      }
    }
  }
  std::ifstream links(from / "LINKS");
  for (std::string line; std::getline(links, line);) {
    const auto arrow = line.find(" -> ");
    if (arrow != std::string::npos) link(line.substr(0, arrow), line.substr(arrow + 4));
  }
}

}  // namespace igpu::test
