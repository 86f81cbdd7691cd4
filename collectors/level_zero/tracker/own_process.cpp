// SPDX-License-Identifier: Apache-2.0
#include "level_zero/tracker/own_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "level_zero/tracker/shared_word.h"

namespace igpu::level_zero {
namespace {

// The kernel gives a forked child this page zeroed: so a child notices without a system call that it has no page yet,
// and finds the lock open, whichever thread held it in the parent.
struct Birth {
  unsigned begun;
  unsigned lock;
};
Birth* birth;
OwnProcess* process;
std::uint32_t generations;  // how many processes this line of forks has seen

struct Thread {
  std::uint32_t generation;
  std::uint32_t lane;
  std::uint32_t id;
};
__thread Thread thread;

std::uint64_t now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 + static_cast<std::uint64_t>(time.tv_nsec);
}

const char* folder() {
  const char* given = secure_getenv("INTEL_GPU_EXPORTER_PATH_LEVEL_ZERO");
  return given != nullptr && given[0] != '\0' ? given : "/run/intel-gpu-exporter/level-zero";
}

std::uint32_t wanted_frames() {
  const char* given = secure_getenv("INTEL_GPU_LEVEL_ZERO_STACKS");
  const long frames = given == nullptr ? 1 : strtol(given, nullptr, 10);
  return frames < 1 ? 1 : frames > kMaxFrames ? kMaxFrames : static_cast<std::uint32_t>(frames);
}

// A child that shares nothing with its parent but does not get the zeroed page (MADV_WIPEONFORK is from Linux 4.14).
void forget_parent() { memset(birth, 0, sizeof *birth); }

Birth* make_birth() {
  auto* made = static_cast<Birth*>(private_memory(4096));
  if (made == nullptr) return nullptr;
  if (madvise(made, 4096, MADV_WIPEONFORK) != 0) pthread_atfork(nullptr, nullptr, forget_parent);
  return made;
}

}  // namespace

OwnProcess* OwnProcess::current() {
  Birth* mark = load(birth);
  if (__builtin_expect(mark != nullptr && load(mark->begun) != 0, true)) return process;
  if (mark == nullptr) {
    Birth* made = make_birth();
    if (made == nullptr) return nullptr;
    if (!exchange_if(birth, static_cast<Birth*>(nullptr), made)) munmap(made, 4096);
    mark = load(birth);
  }
  SpinGuard guard(mark->lock);
  if (load(mark->begun) == 0) {
    process = begin();
    store(mark->begun, 1u);
  }
  return process;
}

// The parent's page stays mapped in a child: nothing writes to it, and what a call under way holds stays valid.
OwnProcess* OwnProcess::begin() {
  auto* made = static_cast<OwnProcess*>(private_memory(sizeof(OwnProcess)));
  if (made == nullptr) return nullptr;
  const std::uint32_t frames = wanted_frames();
  new (static_cast<void*>(&made->file_)) PageFile();
  new (static_cast<void*>(&made->log_)) EventLog();
  auto* page =
      static_cast<unsigned char*>(made->file_.create(folder(), entries_offset(frames) + kFirstEntries * sizeof(Entry)));
  if (page == nullptr) return nullptr;
  made->header_ = reinterpret_cast<Header*>(page);
  made->kinds_ = reinterpret_cast<KindCounters*>(page + kKindsOffset);
  made->calls_ = reinterpret_cast<CallCounters*>(page + kCallsOffset);
  made->generation_ = ++generations;
  made->describe(frames);
  made->sites_.begin(*made->header_, frames, reinterpret_cast<Module*>(page + kModulesOffset), page + kSitesOffset);
  made->live_.begin(made->file_, *made->header_, reinterpret_cast<Entry*>(page + entries_offset(frames)));
  made->begin_log();
  store(made->header_->magic, kMagic);  // from here on a reader takes it for a page
  return made;
}

void OwnProcess::describe(std::uint32_t frames_per_site) {
  Header& header = *header_;
  header.version = kLayoutVersion;
  header.frames_per_site = frames_per_site;
  header.entries_offset = entries_offset(frames_per_site);
  header.entries = kFirstEntries;
  header.kinds = kKinds;
  header.functions = kFunctions;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.uid = getuid();
  header.started_realtime_ns = now(CLOCK_REALTIME);
  header.started_monotonic_ns = now(CLOCK_MONOTONIC);
  if (const int comm = open("/proc/self/comm", O_RDONLY | O_CLOEXEC); comm >= 0) {
    const ssize_t size = read(comm, header.comm, sizeof header.comm - 1);
    if (size > 0 && header.comm[size - 1] == '\n') header.comm[size - 1] = '\0';
    close(comm);
  }
  if (readlink("/proc/self/exe", header.executable, sizeof header.executable - 1) < 0) header.executable[0] = '\0';
}

void OwnProcess::begin_log() {
  LogHeader header = {};
  header.pid = header_->pid;
  header.started_realtime_ns = header_->started_realtime_ns;
  memcpy(header.comm, header_->comm, sizeof header.comm);
  log_.begin(header);
}

void OwnProcess::log_call(std::uint32_t function, std::uint32_t result, std::uint64_t handle,
                          const ProcessMemory& before) {
  if (!log_.on()) return;
  LogEvent event = {};
  event.since_start_ns = now(CLOCK_MONOTONIC) - header_->started_monotonic_ns;
  event.handle = handle;
  event.thread = thread.id;
  event.result = result;
  event.function = static_cast<std::uint16_t>(function);
  // A column of the known CSV may be several of our kinds.
  static constexpr Kind kCounted[kLogCounts + 1] = {Kind::context,
                                                    Kind::command_queue,
                                                    Kind::module,
                                                    Kind::kernel,
                                                    Kind::event_pool,
                                                    Kind::command_list,
                                                    Kind::event,
                                                    Kind::fence,
                                                    Kind::image,
                                                    Kind::sampler,
                                                    Kind::command_list_immediate};
  const auto live = [this](Kind kind) {
    const auto count = static_cast<std::int64_t>(load(counters(static_cast<std::uint8_t>(kind)).live));
    return count < 0 ? 0u : static_cast<std::uint32_t>(count);
  };
  for (std::uint32_t i = 0; i < kLogCounts; ++i) event.counts[i] = live(kCounted[i]);
  event.counts[5] += live(kCounted[kLogCounts]);
  static constexpr Kind kMemories[] = {Kind::memory_device, Kind::memory_host, Kind::memory_shared};
  for (const Kind kind : kMemories) event.total_bytes += load(counters(static_cast<std::uint8_t>(kind)).bytes);
  log_.append(event, before, log_.memory_after());
}

void OwnProcess::count_call(std::uint32_t function, bool failed) {
  if (__builtin_expect(thread.generation != generation_, false)) {
    thread.generation = generation_;
    thread.lane = (add(header_->threads, 1u) - 1) % kLanes;
    thread.id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  }
  CallCounters& cell = calls_[thread.lane * kMaxFunctions + function];
  add(cell.calls, std::uint64_t{1});
  if (__builtin_expect(failed, false)) add(cell.errors, std::uint64_t{1});
}

void OwnProcess::count_failed_create(Kind kind) {
  add(counters(static_cast<std::uint8_t>(kind)).failed, std::uint64_t{1});
}

void OwnProcess::created(const Created& resource, const Caller& caller) {
  Entry entry = {};
  entry.handle = resource.handle;
  entry.bytes = resource.bytes;
  entry.created_monotonic_ns = now(CLOCK_MONOTONIC_COARSE);
  entry.parent = resource.parent;
  entry.site = sites_.of(caller);
  entry.thread = thread.id;
  entry.kind = static_cast<std::uint8_t>(resource.kind);
  entry.function = resource.function;
  if (resource.handle == 0 || !live_.insert(entry)) {
    add(header_->untracked, std::uint64_t{1});
    return;
  }
  KindCounters& kind = counters(entry.kind);
  add(kind.created, std::uint64_t{1});
  raise_to(kind.live_peak, add(kind.live, std::uint64_t{1}));
  if (entry.bytes == 0) return;
  add(kind.bytes_allocated, entry.bytes);
  raise_to(kind.bytes_peak, add(kind.bytes, entry.bytes));
}

void OwnProcess::destroyed(std::uint32_t entry) {
  if (entry == kNoEntry) {
    // With resources that had no room for an entry it may have been one of them.
    const bool unknown = load(header_->untracked) > load(header_->untracked_destroys);
    add(unknown ? header_->untracked_destroys : header_->invalid_destroys, std::uint64_t{1});
    return;
  }
  const std::uint8_t kind_number = live_.at(entry).kind;
  const std::uint64_t bytes = live_.at(entry).bytes;
  live_.release(entry);
  KindCounters& kind = counters(kind_number < kMaxKinds ? kind_number : 0);
  add(kind.destroyed, std::uint64_t{1});
  subtract(kind.live, std::uint64_t{1});
  if (bytes != 0) subtract(kind.bytes, bytes);
}

void OwnProcess::ending() {
  const Birth* mark = load(birth);
  if (mark == nullptr || load(mark->begun) == 0 || process == nullptr) return;
  store(process->header_->ended_realtime_ns, now(CLOCK_REALTIME));
}

}  // namespace igpu::level_zero
