// SPDX-License-Identifier: Apache-2.0
// The file that the tracker writes inside a Level Zero program and the exporter reads: one for each process, named
// <pid>-<nanoseconds since 1970>.l0.
//
//   Header | KindCounters[kMaxKinds] | CallCounters[kLanes][kMaxFunctions] | Module[kMaxModules] | sites | entries
//
// A site is a SiteHeader and frames_per_site addresses. The entries are the live resources, at Header.entries_offset;
// their number grows. Every field is a plain number in the machine's byte order: nothing points anywhere. The writer
// may be killed between any two stores, so a reader must expect counters and entries to differ by the calls in flight.
// The writer keeps a POSIX write lock on the first byte for as long as it lives.
#pragma once

#include <cstdint>

namespace igpu::level_zero {

inline constexpr std::uint64_t kMagic = 0x004f52455a4c5649;  // "IVLZERO\0"
inline constexpr std::uint32_t kLayoutVersion = 1;           // to be raised with every change below

inline constexpr std::uint32_t kMaxKinds = 64;
inline constexpr std::uint32_t kMaxFunctions = 192;
inline constexpr std::uint32_t kLanes =
    8;  // each thread counts calls in one of these lanes, so that threads rarely share a cache line
inline constexpr std::uint32_t kMaxModules = 128;
inline constexpr std::uint32_t kMaxSites = 2048;
inline constexpr std::uint32_t kMaxFrames = 16;
inline constexpr std::uint32_t kFirstEntries = 1024;  // each chunk of entries is twice as long as the previous one
inline constexpr std::uint32_t kMaxChunks = 10;
inline constexpr std::uint32_t kNoSite = 0xffffffff;

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t frames_per_site;
  std::uint64_t entries_offset;
  std::uint64_t entries;  // number of entries for which the file has room
  std::uint32_t kinds;    // number of kinds that this writer knows
  std::uint32_t functions;
  std::uint32_t pid;  // in the writer's own pid namespace
  std::uint32_t uid;
  std::uint64_t started_realtime_ns;
  std::uint64_t started_monotonic_ns;
  std::uint64_t ended_realtime_ns;  // 0 until exit handlers run; a killed process leaves 0
  std::uint64_t invalid_destroys;   // the driver accepted a handle that is not live
  std::uint64_t untracked;          // resources created while there was no room for an entry
  std::uint64_t untracked_destroys;
  std::uint32_t threads;
  std::uint32_t modules;
  char comm[16];
  char executable[256];
  std::uint8_t reserved[4096 - 376];
};

struct KindCounters {
  std::uint64_t created;
  std::uint64_t destroyed;
  std::uint64_t live;
  std::uint64_t live_peak;
  std::uint64_t failed;
  std::uint64_t bytes;
  std::uint64_t bytes_peak;
  std::uint64_t bytes_allocated;
};

struct CallCounters {
  std::uint64_t calls;
  std::uint64_t errors;
};

// Where a file of code was mapped when one of its call sites was first seen.
struct Module {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t load_address;  // subtracted from a site's address, it gives the address in the file
  char path[104];
};

struct SiteHeader {
  std::uint64_t hash;  // of the frames; 0: unused
  std::uint32_t depth;
  std::uint32_t ready;
};

enum class EntryState : std::uint8_t { unused, live, being_destroyed };

struct Entry {
  std::uint64_t handle;
  std::uint64_t bytes;
  std::uint64_t created_monotonic_ns;
  std::uint64_t parent;  // the first argument of the call, usually a context
  std::uint32_t site;
  std::uint32_t thread;
  std::uint8_t kind;
  std::uint8_t state;
  std::uint16_t function;
  std::uint32_t reserved;
};

static_assert(sizeof(Header) == 4096);
static_assert(sizeof(KindCounters) == 64);
static_assert(sizeof(Module) == 128);
static_assert(sizeof(SiteHeader) == 16);
static_assert(sizeof(Entry) == 48);

inline constexpr std::uint64_t kKindsOffset = sizeof(Header);
inline constexpr std::uint64_t kCallsOffset = kKindsOffset + kMaxKinds * sizeof(KindCounters);
inline constexpr std::uint64_t kModulesOffset =
    kCallsOffset + std::uint64_t{kLanes} * kMaxFunctions * sizeof(CallCounters);
inline constexpr std::uint64_t kSitesOffset = kModulesOffset + kMaxModules * sizeof(Module);

constexpr std::uint64_t site_bytes(std::uint32_t frames) { return sizeof(SiteHeader) + frames * sizeof(std::uint64_t); }
constexpr std::uint64_t entries_offset(std::uint32_t frames) {
  return (kSitesOffset + kMaxSites * site_bytes(frames) + 4095) / 4096 * 4096;
}
constexpr std::uint64_t chunk_entries(std::uint32_t chunk) { return std::uint64_t{kFirstEntries} << chunk; }
constexpr std::uint64_t entries_of(std::uint32_t chunks) { return std::uint64_t{kFirstEntries} * ((1u << chunks) - 1); }
// Chunks are mapped one by one, so each must begin and end at a page boundary.
static_assert(kFirstEntries * sizeof(Entry) % 4096 == 0);
inline constexpr std::uint64_t kMaxFileBytes = entries_offset(kMaxFrames) + entries_of(kMaxChunks) * sizeof(Entry);

}  // namespace igpu::level_zero
