// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace igpu::bpf {

// The counters in a BPF array map, mapped into memory.
class MappedSlots {
 public:
  MappedSlots() = default;
  MappedSlots(int map, std::size_t count, int protection) : count_(count) {
    void* const memory = ::mmap(nullptr, size(), protection, MAP_SHARED, map, 0);
    if (memory != MAP_FAILED) slots_ = static_cast<std::uint64_t*>(memory);
  }
  ~MappedSlots() {
    if (slots_ != nullptr) ::munmap(slots_, size());
  }
  MappedSlots(const MappedSlots&) = delete;
  MappedSlots& operator=(const MappedSlots&) = delete;
  std::uint64_t* get() const { return slots_; }
  std::span<std::uint64_t> all() const { return {slots_, count_}; }

 private:
  std::size_t size() const { return count_ * sizeof(std::uint64_t); }
  std::size_t count_ = 0;
  std::uint64_t* slots_ = nullptr;
};

}  // namespace igpu::bpf
