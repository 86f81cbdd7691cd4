// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// A program may have rights that its caller lacks: capabilities of its file (setcap), the user or group of a set-id
// file. It may use them for what it reads by itself; what the caller names is opened with the caller's rights.
namespace igpu::exporter {

// Whether the program's file has capabilities that its caller lacks. Not in the container image: whoever starts a
// container decides about its rights, too. Call it first while there is one thread.
bool has_rights_of_its_file();
bool is_set_id();

// While it lives, what this thread opens needs the caller's rights. Throws std::system_error.
class CallersRights {
 public:
  CallersRights();
  ~CallersRights();
  CallersRights(const CallersRights&) = delete;
  CallersRights& operator=(const CallersRights&) = delete;

 private:
  std::uint64_t effective_ = 0;  // to be restored
};

}  // namespace igpu::exporter
