// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "igpu/reading.h"
#include "machine/bpf/fault_slots.h"

namespace igpu {

// Layout of the running kernel's structures, from its type information below /sys/kernel/btf. Every user may read that,
// while libbpf's own search for a module's types needs CAP_SYS_ADMIN.
class StructOffsets {
 public:
  // Types of the kernel and, where it is a module of its own, of that module. errno says why there are none.
  static std::optional<StructOffsets> read(const std::string& folder, const std::string& module);

  // Offset of a member in bytes; each further name is a member of the one before. nullopt: there is no such member.
  std::optional<std::uint32_t> offset(const char* structure, std::initializer_list<const char*> members) const;
  std::optional<std::uint32_t> enumerator(const char* name) const;
  // The number of the type of a variable of the kernel itself.
  std::optional<std::uint32_t> variable(const char* name) const;

 private:
  struct Free {
    void operator()(btf* types) const { ::btf__free(types); }
  };
  using Types = std::unique_ptr<btf, Free>;
  StructOffsets(Types kernel, Types module) : kernel_(std::move(kernel)), module_(std::move(module)) {}
  const btf* types() const { return module_ ? module_.get() : kernel_.get(); }

  Types kernel_, module_;
};

// Where the BPF programs find what they read of xe's structures, from the kernel's types in the folder `types`
// (/sys/kernel/btf) and the modules in `modules` (/sys/module). Absent{kernel, ENOENT}: xe is not loaded.
// Absent{kernel, ENODATA}: the kernel does not describe its structures, or xe's differ from those that are known.
Reading<fault_layout> read_fault_layout(const std::string& types, const std::string& modules);

}  // namespace igpu
