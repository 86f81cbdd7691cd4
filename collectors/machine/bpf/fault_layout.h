// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "igpu/reading.h"
#include "machine/bpf/fault_slots.h"

namespace igpu {

// Where the BPF programs find what they read of xe's structures, from the kernel's types in the folder `types`
// (/sys/kernel/btf) and the modules in `modules` (/sys/module). Absent{kernel, ENOENT}: xe is not loaded.
// Absent{kernel, ENODATA}: the kernel does not describe its structures, or xe's differ from those that are known.
Reading<fault_layout> read_fault_layout(const std::string& types, const std::string& modules);

}  // namespace igpu
