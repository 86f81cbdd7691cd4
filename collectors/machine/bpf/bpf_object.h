// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <zstd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "igpu/reading.h"

#ifdef IGPU_STATIC
#endif

// Owners of what libbpf hands out, for the loaders of this folder.
namespace igpu::bpf {

struct CloseObject {
  void operator()(bpf_object* object) const { ::bpf_object__close(object); }
};
using Object = std::unique_ptr<bpf_object, CloseObject>;

struct DestroyLink {
  void operator()(bpf_link* link) const { ::bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, DestroyLink>;

inline bpf_program* program(const Object& object, const char* name) {
  return ::bpf_object__find_program_by_name(object.get(), name);
}

inline bpf_map* map(const Object& object, const char* name) {
  return ::bpf_object__find_map_by_name(object.get(), name);
}

inline int descriptor_of(const Object& object, const char* map_name) { return ::bpf_map__fd(map(object, map_name)); }

// Opens an object that cmake/bpf.cmake embedded, and sets the constants of its programs; in the static program it is
// compressed. size: of the uncompressed object. Null: see errno.
template <class Constants>
Object open_object(std::span<const unsigned char> bytes, std::size_t size, const char* name,
                   const Constants& constants) {
#ifdef IGPU_STATIC
  std::vector<unsigned char> unpacked(size);
  if (::ZSTD_decompress(unpacked.data(), size, bytes.data(), bytes.size()) != size) {
    errno = EILSEQ;
    return nullptr;
  }
  bytes = unpacked;
#endif
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = name;
  Object object(::bpf_object__open_mem(bytes.data(), size, &options));  // keeps nothing of the bytes
  if (!object) return nullptr;
  bpf_map* const place = map(object, ".rodata");
  const int error = place ? ::bpf_map__set_initial_value(place, &constants, sizeof constants) : -EINVAL;
  if (error == 0) return object;
  errno = -error;
  return nullptr;
}

// Null: see errno.
inline Object loaded(Object object) {
  const int error = ::bpf_object__load(object.get());
  if (error == 0) return object;
  errno = -error;
  return nullptr;
}

// The present errno as an Absent.
inline Absent why_not() {
  const bool denied = errno == EPERM || errno == EACCES;
  return {denied ? Reason::permission : Reason::kernel, errno};
}

// Stops libbpf from writing to stderr; errno has the reason of a failure.
inline void silence_libbpf() {
  ::libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
}

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
