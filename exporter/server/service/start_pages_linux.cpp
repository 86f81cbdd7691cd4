// SPDX-License-Identifier: Apache-2.0
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "server/service/start_pages.h"

namespace igpu::exporter {
namespace {

// A segment that was never writable holds what its file holds, so that nothing is lost. Relocated constants (RELRO) are
// part of a writable segment.
int unmap_read_only_segments(dl_phdr_info* object, std::size_t, void*) {
  const bool is_program = *object->dlpi_name == '\0';
  if (is_program) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t first = begin & ~(page - 1);
    // Fails for the kernel's own object (vDSO) and for locked memory, which stay.
    (void)::madvise(reinterpret_cast<void*>(first), begin + segment.p_memsz - first, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void unmap_start_pages() { (void)::dl_iterate_phdr(unmap_read_only_segments, nullptr); }

}  // namespace igpu::exporter
