// SPDX-License-Identifier: Apache-2.0
#include <link.h>
#include <string.h>
#include <unwind.h>

#include "level_zero/tracker/own_process.h"
#include "level_zero/tracker/shared_word.h"

namespace igpu::level_zero {
namespace {

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

constexpr std::uint32_t kMaxLoaderRanges = 8;
Range loader_ranges[kMaxLoaderRanges];
std::uint32_t loader_range_count;
unsigned loader_lock;

bool in_loader(std::uint64_t address) {
  const std::uint32_t count = load(loader_range_count);
  for (std::uint32_t i = 0; i < count; ++i)
    if (address >= load(loader_ranges[i].begin) && address < load(loader_ranges[i].end)) return true;
  return false;
}

bool executable(const ElfW(Phdr) & part) { return part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0; }

Range range_of(const dl_phdr_info& object, const ElfW(Phdr) & part) {
  const std::uint64_t begin = object.dlpi_addr + part.p_vaddr;
  return {begin, begin + part.p_memsz};
}

int note_loader(dl_phdr_info* object, std::size_t, void*) {
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* name = slash == nullptr ? object->dlpi_name : slash + 1;
  if (strncmp(name, "libze_", 6) != 0) return 0;
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    if (!executable(object->dlpi_phdr[i])) continue;
    const Range range = range_of(*object, object->dlpi_phdr[i]);
    if (in_loader(range.begin) || loader_range_count == kMaxLoaderRanges) continue;
    store(loader_ranges[loader_range_count].begin, range.begin);
    store(loader_ranges[loader_range_count].end, range.end);
    store(loader_range_count, loader_range_count + 1);
  }
  return 0;
}

struct Trace {
  static constexpr std::uint32_t kMost = kMaxFrames + 16;
  std::uint64_t address[kMost];
  std::uint64_t slot[kMost];  // where the address lies on the stack
  std::uint32_t depth = 0;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
  auto& trace = *static_cast<Trace*>(argument);
  if (trace.depth == Trace::kMost) return _URC_END_OF_STACK;
  // While a frame is visited, the context's CFA is that of the frame that it called: its return address is just below.
  trace.slot[trace.depth] = _Unwind_GetCFA(context) - sizeof(std::uint64_t);
  trace.address[trace.depth++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

// The first frame of the trace outside this library; Trace::kMost when it does not contain the call.
std::uint32_t find_caller(const Trace& trace, std::uint64_t address) {
  for (std::uint32_t i = 0; i < trace.depth; ++i)
    if (trace.address[i] == address) return i;
  return Trace::kMost;
}

// A function of the loader has a frame of one size, so its own return address lies at a fixed distance from the one
// that leads into it: unwound once for each place, read from the stack after that.
struct Hop {
  std::uint64_t from;  // 0: free, 1: being written
  std::uint64_t distance;
};
constexpr std::uint32_t kHops = 1024;
Hop hops[kHops];

Hop& hop_of(std::uint64_t address) { return hops[(address >> 1) % kHops]; }

void remember(std::uint64_t from, std::uint64_t distance) {
  Hop& hop = hop_of(from);
  if (!exchange_if(hop.from, std::uint64_t{0}, std::uint64_t{1})) return;
  store(hop.distance, distance);
  store(hop.from, from);
}

// Other frames' stack is no object of ours, which instrumented builds would report.
__attribute__((no_sanitize("address", "undefined", "thread"))) std::uint64_t read_stack(std::uint64_t slot) {
  return *reinterpret_cast<const volatile std::uint64_t*>(slot);
}

std::uint64_t unwind_past_loader(const Caller& caller) {
  Trace trace;
  _Unwind_Backtrace(note_frame, &trace);
  std::uint32_t at = find_caller(trace, caller.address);
  for (; at + 1 < trace.depth && in_loader(trace.address[at]); ++at)
    if (trace.slot[at + 1] > trace.slot[at] && read_stack(trace.slot[at + 1]) == trace.address[at + 1])
      remember(trace.address[at], trace.slot[at + 1] - trace.slot[at]);
  return at < trace.depth ? trace.address[at] : caller.address;
}

std::uint64_t first_outside_loader(const Caller& caller) {
  std::uint64_t address = caller.address;
  std::uint64_t slot = caller.stack_slot;
  for (int hops_left = 8; in_loader(address); --hops_left) {
    const Hop& hop = hop_of(address);
    if (hops_left == 0 || load(hop.from) != address) return unwind_past_loader(caller);
    slot += load(hop.distance);
    address = read_stack(slot);
  }
  return address;
}

// A table that is nearly full gives up rather than search it all at each call.
constexpr std::uint32_t kMostProbes = 64;

std::uint64_t hash_of(const std::uint64_t* frames, std::uint32_t depth) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint32_t i = 0; i < depth; ++i) hash = (hash ^ frames[i]) * 0x100000001b3;
  hash ^= hash >> 29;
  return hash == 0 ? 1 : hash;
}

struct Search {
  std::uint64_t address;
  Module found;
};

int find_module(dl_phdr_info* object, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    if (!executable(object->dlpi_phdr[i])) continue;
    const Range range = range_of(*object, object->dlpi_phdr[i]);
    if (search.address < range.begin || search.address >= range.end) continue;
    search.found.begin = range.begin;
    search.found.end = range.end;
    search.found.load_address = object->dlpi_addr;
    strncpy(search.found.path, object->dlpi_name, sizeof search.found.path - 1);
    return 1;
  }
  return 0;
}

}  // namespace

void find_loader() {
  SpinGuard guard(loader_lock);
  dl_iterate_phdr(note_loader, nullptr);
}

void CallSites::begin(Header& header, std::uint32_t frames_per_site, Module* modules, unsigned char* sites) {
  header_ = &header;
  modules_ = modules;
  sites_ = sites;
  depth_ = frames_per_site;
}

std::uint32_t CallSites::of(const Caller& caller) {
  if (depth_ == 1) {
    const std::uint64_t address = first_outside_loader(caller);
    return intern(&address, 1);
  }
  Trace trace;
  _Unwind_Backtrace(note_frame, &trace);
  std::uint32_t first = find_caller(trace, caller.address);
  if (first == Trace::kMost) {
    const std::uint64_t address = caller.address;
    return intern(&address, 1);
  }
  while (first + 1 < trace.depth && in_loader(trace.address[first])) ++first;
  const std::uint32_t depth = trace.depth - first;
  return intern(trace.address + first, depth < depth_ ? depth : depth_);
}

SiteHeader& CallSites::site(std::uint32_t number) {
  return *reinterpret_cast<SiteHeader*>(sites_ + number * site_bytes(depth_));
}

std::uint32_t CallSites::intern(const std::uint64_t* frames, std::uint32_t depth) {
  const std::uint64_t hash = hash_of(frames, depth);
  const std::uint32_t home = static_cast<std::uint32_t>(hash) % kMaxSites;
  for (std::uint32_t i = 0; i < kMostProbes; ++i) {
    const std::uint32_t number = (home + i) % kMaxSites;
    SiteHeader& candidate = site(number);
    const std::uint64_t seen = load(candidate.hash);
    if (seen == hash) return number;
    if (seen != 0) continue;
    // Before the lock: this takes the dynamic linker's.
    for (std::uint32_t frame = 0; frame < depth; ++frame) note_module(frames[frame]);
    if (!exchange_if(candidate.hash, std::uint64_t{0}, hash)) {
      if (load(candidate.hash) == hash) return number;
      continue;
    }
    candidate.depth = depth;
    memcpy(&candidate + 1, frames, depth * sizeof(std::uint64_t));
    store(candidate.ready, 1u);
    return number;
  }
  return kNoSite;
}

void CallSites::note_module(std::uint64_t address) {
  Search search = {address - 1, {}};  // a call that never returns may be the last instruction
  if (dl_iterate_phdr(find_module, &search) == 0) return;
  if (search.found.path[0] == '\0') {
    static_assert(sizeof search.found.path <= sizeof header_->executable);
    memcpy(search.found.path, header_->executable, sizeof search.found.path - 1);  // a long path is cut
  }
  SpinGuard guard(lock_);
  for (std::uint32_t i = 0; i < module_count_; ++i)
    if (modules_[i].begin == search.found.begin &&
        strncmp(modules_[i].path, search.found.path, sizeof search.found.path) == 0)
      return;
  if (module_count_ == kMaxModules) return;
  modules_[module_count_++] = search.found;
  store(header_->modules, module_count_);
}

}  // namespace igpu::level_zero
