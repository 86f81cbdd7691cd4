// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace igpu::test {

// A temporary directory tree laid out like a machine: sys/, proc/ and dev/ below one root. Removed at the end.
class MachineTree {
 public:
  MachineTree();
  ~MachineTree();
  MachineTree(const MachineTree&) = delete;
  MachineTree& operator=(const MachineTree&) = delete;

  // Paths are relative: "sys/class/drm/card0/gt_act_freq_mhz". Directories are made as needed.
  void write(const std::string& path, std::string_view content);
  void link(const std::string& path, const std::string& target);  // replaces what is there
  void make_directory(const std::string& path);
  void remove(const std::string& path);  // with everything below; nothing happens if it is not there
  void move(const std::string& from, const std::string& to);
  void set_mode(const std::string& path, unsigned mode);
  bool exists(const std::string& path) const;  // of the entry itself; links are not followed
  std::string read(const std::string& path) const;

  // Unpacks a captured machine of tests/machines/ into this tree: its sys, proc and dev.
  void lay_out(const std::string& captured_machine);

  const std::filesystem::path& root() const { return root_; }
  std::string path(const std::string& relative) const { return (root_ / relative).string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace igpu::test
