// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/clients/clients.h"
#include "kernel/clients/process.h"
#include "kernel/clients/sleeping_gpus.h"
#include "machine/machine.h"

namespace igpu {

struct FdinfoBlock;

// A descriptor that showed a DRM client, or DRM text that cannot be parsed into a client.
struct ClientFile {
  std::uint32_t fd = 0;
  std::string device;  // PCI address; "" if the text has none
};

// The result of one scan of a process, from which the next scan continues.
struct ClientFiles {
  std::vector<ClientFile> files;       // sorted by fd
  std::uint64_t start_time_ticks = 0;  // of the process that holds the files
  bool denied = false;
  std::uint64_t skipped = 0;   // files with truncated or malformed text
  std::uint64_t left_out = 0;  // files of an unknown GPU that were not read, because a GPU sleeps
  std::uint64_t silent = 0;    // nodes of an NPU without DRM text
};

// Reads the clients of single processes into a snapshot.
class ClientFileReader {
 public:
  struct Scan {
    ClientSnapshot& snapshot;
    const SleepingGpus& gpus;
    Nanoseconds deadline;
    bool live;  // /proc is this machine's own, not a captured tree: links lead to open files
  };
  ClientFileReader(Machine& machine, UserNames& users, const Scan& scan)
      : machine_(machine), users_(users), scan_(scan) {}

  // Both functions return false if the deadline stopped them.
  // Reads all descriptors from number `skip` on. Sets `visited` to the number of descriptors read so far.
  bool read_all(std::uint32_t pid, ClientFiles& process, std::size_t skip, std::size_t& visited);
  // Reads the known descriptors. Sets `changed` if one of them is gone or no longer shows DRM text.
  bool read_known(std::uint32_t pid, ClientFiles& process, bool& changed);

 private:
  enum class Visit { client, unreadable, left_out, silent, nothing, gone, denied, stopped };

  void begin(std::uint32_t pid, const ClientFiles& known);
  bool end(ClientFiles& process);
  Visit visit(std::uint32_t fd, bool known_file);
  Visit add_client(const FdinfoBlock& block, Nanoseconds now);
  void add_npu_client(const FdinfoBlock& block);
  bool add_file(Visit visit, std::uint32_t fd, ClientFiles& found);
  std::optional<std::string> link_target(std::uint32_t fd);
  Reading<FileFacts> opened_device(std::uint32_t fd) const;
  bool is_no_drm_file(std::uint32_t fd);
  bool is_accel_node(std::uint32_t fd) const;
  std::optional<Visit> why_not_readable(std::uint32_t fd);
  const ClientFile* seen_earlier(std::uint32_t fd);

  Machine& machine_;
  UserNames& users_;
  const Scan scan_;

  // Of the current process.
  std::uint32_t pid_ = 0;
  const ClientFiles* known_ = nullptr;
  std::unique_ptr<Directory> directory_;  // opened when its first file is read
  std::size_t first_client_ = 0, first_npu_client_ = 0;
  bool is_accel_ = false;  // the link of the last file led to a node of an NPU
  std::optional<std::uint64_t> start_time_;
  bool links_readable_ = true;
  std::string device_;  // of the last file read
};

}  // namespace igpu
