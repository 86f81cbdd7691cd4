// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kernel/short_process.h"

namespace igpu::test {

// A subtree of this machine's control groups, for the processes of one test. The destructor ends what still runs in it
// and removes it; if that does not succeed in time, the test fails with the name of the group and what is in it.
//
// Containers often show control groups that nobody there may change: then it is not available, and why_not() has the
// reasons. Any other error than a refusal fails the test. The VM suite (group workloads) always has control groups.
class ControlGroups {
 public:
  ControlGroups();
  ~ControlGroups();
  ControlGroups(const ControlGroups&) = delete;
  ControlGroups& operator=(const ControlGroups&) = delete;

  bool available() const { return !root_.empty(); }
  const std::string& why_not() const { return why_not_; }

  // Makes a group and those above it; returns its path.
  std::string make(const std::string& name) const;
  static void move(const std::string& group, const ShortProcess& process);
  // Removes a group that has no processes.
  static void remove(const std::string& group);

 private:
  std::string take(const std::string& mount, const ShortProcess& trial);

  std::string root_, why_not_;
};

}  // namespace igpu::test
