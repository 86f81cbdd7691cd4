// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "igpu/unique_fd.h"
#include "platform/sandbox_layers.h"

// Landlock (Documentation/userspace-api/landlock.rst): the kernel denies access to every file outside the listed
// folders, for every user.
namespace igpu::exporter {

struct FileAccess {
  std::vector<std::string> readable{};         // folders with their content, or files; missing ones are skipped
  std::vector<std::string> listable{};         // folders that may be listed, with their subfolders
  std::vector<std::string> devices{};          // readable, with device ioctls
  std::vector<std::uint16_t> connect_ports{};  // TCP
  std::vector<std::string> writable{};         // folders in which files may be made, written, renamed and removed
};

// The kernel's interface version; 0 if Landlock is not available, with the reason in errno: ENOSYS (not built in),
// EOPNOTSUPP (not enabled).
int landlock_version();

// Restricts the calling thread, and those that it starts later, to reading the listed paths. They can write, create
// and remove nothing but files in the listed writable folders, and run nothing; from version 4 on they can neither bind
// nor, except to the listed ports, connect TCP, from 6 on not connect to other programs' abstract UNIX sockets.
// Requires no_new_privs. A restricted thread cannot inspect processes outside the restriction (the kernel's ptrace
// rule), so /proc/<pid>/fdinfo must be read by threads started before. held: receives descriptors of the paths below
// /proc, to be kept open. Rules apply to inodes, and the kernel drops unused inodes of /proc with their rules.
// /proc/self is the calling process.
LayerOutcome confine_files(const FileAccess& access, std::vector<UniqueFd>& held);

// The folders of a file: that of its path, and that of the file to which symbolic links lead.
std::vector<std::string> folders_of(const std::string& file);

}  // namespace igpu::exporter
