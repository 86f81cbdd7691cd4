// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "machine/machine.h"
#include "support/machine_tree.h"

namespace igpu::test {

// A test's description of a process.
struct ProcessSpec {
  std::string comm = "ffmpeg";
  std::uint64_t start_time_ticks = 1000;
  std::uint32_t uid = 1000;
  std::string cgroup = "0::/\n";
  std::uint64_t cpu_ticks = 0;
  std::uint64_t resident_pages = 0;
  std::uint64_t virtual_bytes = 0;
};

// Writes /proc/<pid> of a process into a tree.
void add_process(MachineTree& tree, std::uint32_t pid, const ProcessSpec& process = {});
// One open file. target: of fd/<fd>; "" writes no link (it may not be read).
void add_file(MachineTree& tree, std::uint32_t pid, std::uint32_t fd, std::string_view fdinfo,
              std::string_view target = {});

// A machine with processes, which records what is read from it. Time advances only when the test moves it. What is not
// written does not exist.
class ProcTree {
 public:
  ProcTree();
  ~ProcTree();
  ProcTree(const ProcTree&) = delete;
  ProcTree& operator=(const ProcTree&) = delete;

  void add_process(std::uint32_t pid, const ProcessSpec& process = {}) { test::add_process(tree, pid, process); }
  void add_file(std::uint32_t pid, std::uint32_t fd, std::string_view fdinfo, std::string_view target = {}) {
    test::add_file(tree, pid, fd, fdinfo, target);
  }
  // The process is gone.
  void end(std::uint32_t pid);
  // A GPU as /sys/class/drm shows it.
  void add_gpu(const std::string& address, const std::string& driver, const std::string& card,
               const std::string& render_node);
  // The render node of an xe GPU reports the rate of its clock.
  void set_clock(const std::string& render_node, std::uint32_t hertz);
  // The link that a live procfs has to our own process.
  void set_self(std::uint32_t pid) { tree.link("proc/self", std::to_string(pid)); }

  Machine& machine();
  // The character device behind a descriptor of the tree, as stat reports it; "proc/7/fd/3".
  void set_device(std::string_view path, unsigned major, unsigned minor);
  // /proc/<pid>/fd as a live kernel reports it: its inode, and the number of descriptors as its size (0 before 6.2).
  void set_descriptors(std::uint32_t pid, std::uint64_t inode, std::uint64_t count);
  // How often a file of the tree was read since the last question; "proc/7/fdinfo/3".
  int reads(std::string_view path);
  // Every read of the clock moves it by this much.
  void set_time_per_look(Nanoseconds step);
  // How long the machine has been up: the clock of start times.
  void set_boot_time(Nanoseconds boot);

  MachineTree tree;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// "drm-driver: i915" and so on, as the kernel prints them; engine lines and more are appended by the test.
std::string i915_block(std::string_view address, std::uint64_t client, std::string_view more = {});
std::string xe_block(std::string_view address, std::uint64_t client, std::string_view more = {});

}  // namespace igpu::test
