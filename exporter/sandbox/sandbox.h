// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "igpu/log.h"
#include "sandbox/capabilities.h"
#include "sandbox/landlock.h"
#include "sandbox/layer.h"

namespace igpu::exporter {

// What the program goes on doing, from which follows what it must keep.
struct SandboxPlan {
  bool on = true;  // --no-sandbox
  CapabilityUses uses;
  FileAccess files;         // of all threads together
  FileAccess client_files;  // what threads that clients talk to go on reading, a part of those
  // Whether collectors look into other processes. Landlock forbids that to whom it confines, so that then the threads
  // of the collectors, which talk to nobody, stay outside of it.
  bool reads_processes = true;
};

using SandboxOutcomes = std::array<LayerOutcome, kLayers.size()>;

// Takes away what the program does not need any more, in the order in which it stops needing it. All layers but
// core_dumps belong to threads and are inherited by those that are made later, hence the steps. After the last one
// there are two kinds of threads: those that collectors run on, made in between, and all others, which clients talk to
// and which have less: no capability, no perf events, no GPU, no folder of other processes. None of them throws: a
// layer that cannot be had is told, and the program goes on without it. docs/sandbox.md is for operators.
class Sandbox {
 public:
  explicit Sandbox(SandboxPlan plan);

  // Files that are read again when they change, by any thread, with the folders that they are in; before drop_rights().
  void keep_readable(const std::vector<std::string>& files);

  void guard_memory();     // before anything secret is read: no core dumps
  void drop_rights();      // sockets are bound, no other thread exists: capabilities, no_new_privs
  void confine_clients();  // the collectors' threads exist, those that talk to clients do not: Landlock, capabilities
  void close();            // no request has been answered: seccomp; then looks at what holds

  const LayerOutcome& outcome(Layer layer) const { return outcomes_[static_cast<std::size_t>(layer)]; }
  const SandboxOutcomes& outcomes() const { return outcomes_; }

  // One line of what is on, and one for each layer that should be and is not, with its hint.
  void tell(Log& log) const;

 private:
  void confine(const FileAccess& access);
  void limit_clients();
  void verify();
  LayerOutcome& at(Layer layer) { return outcomes_[static_cast<std::size_t>(layer)]; }

  SandboxPlan plan_;
  SandboxOutcomes outcomes_;
  std::vector<std::string> reread_;
  std::vector<Descriptor> held_;  // for Landlock
  CapabilitySet kept_ = 0;
  CapabilitySet clients_keep_ = 0;
};

// What a sandbox of this plan would come to on this machine: put on by a child process that ends at once. Before any
// other thread exists.
SandboxOutcomes try_sandbox(const SandboxPlan& plan);

}  // namespace igpu::exporter
