// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/libbpf.h>

#include <cerrno>
#include <memory>

#include "igpu/reading.h"

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

// What errno says.
inline Absent why_not() {
  const bool denied = errno == EPERM || errno == EACCES;
  return {denied ? Reason::permission : Reason::kernel, errno};
}

// Libbpf writes to stderr what errno says as well.
inline void silence_libbpf() {
  ::libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
}

}  // namespace igpu::bpf
