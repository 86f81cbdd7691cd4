// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "igpu/unique_fd.h"
#include "machine/filesystem.h"
#include "machine/tracepoints.h"

namespace igpu {
namespace {

constexpr std::uint64_t kFormatLost = std::uint64_t{1}
                                      << 4;  // PERF_FORMAT_LOST, Linux 6.0; Debian 12's headers lack it
constexpr std::size_t kSmallestRing = 8UL * 4096;

// A mapped perf ring: one page of pointers, then the data.
class RingMemory {
 public:
  RingMemory(void* address, std::size_t data_size, std::size_t page)
      : address_(static_cast<std::byte*>(address)), data_size_(data_size), page_(page) {}
  RingMemory(RingMemory&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), data_size_(other.data_size_), page_(other.page_) {}
  RingMemory& operator=(RingMemory&&) = delete;
  ~RingMemory() {
    if (address_ != nullptr) ::munmap(address_, page_ + data_size_);
  }
  perf_event_mmap_page& control() const { return *reinterpret_cast<perf_event_mmap_page*>(address_); }
  std::span<const std::byte> data() const { return {address_ + page_, data_size_}; }

 private:
  std::byte* address_;
  std::size_t data_size_, page_;
};

struct Cpu {
  std::uint32_t number = 0;
  std::vector<UniqueFd> events;  // the first one has the ring
  std::vector<RingMemory> ring;  // one
};

class LinuxTraceSession final : public TraceSession {
 public:
  LinuxTraceSession(std::vector<Cpu> cpus, bool exact, std::size_t ring_bytes)
      : cpus_(std::move(cpus)), exact_(exact), ring_bytes_(ring_bytes) {
    for (const Cpu& cpu : cpus_) polled_.push_back({cpu.events.front().get(), POLLIN, 0});
  }

  // Ends are enabled first, so that no job begins whose end is not seen.
  void start() {
    const std::size_t events = cpus_.empty() ? 0 : cpus_.front().events.size();
    for (std::size_t event = 0; event < events; ++event)
      for (const Cpu& cpu : cpus_) ::ioctl(cpu.events[event].get(), PERF_EVENT_IOC_ENABLE, 0);
  }

  void wait(std::chrono::milliseconds time) override {
    // POLLHUP of a stopped event would end every wait at once.
    if (stopped_)
      std::this_thread::sleep_for(time);
    else
      (void)::poll(polled_.data(), polled_.size(), static_cast<int>(time.count()));
  }

  void drain(const std::function<void(const TraceRecord&)>& visit) override {
    for (const Cpu& cpu : cpus_) {
      for (const RingMemory& ring : cpu.ring) {
        perf_event_mmap_page& control = ring.control();
        const std::uint64_t head = __atomic_load_n(&control.data_head, __ATOMIC_ACQUIRE);
        const std::uint64_t tail = control.data_tail;
        if (head == tail) continue;
        const std::uint64_t read = read_trace_ring(ring.data(), tail, head, cpu.number, visit, counts_);
        __atomic_store_n(&control.data_tail, read, __ATOMIC_RELEASE);
      }
    }
  }

  void stop() override {
    if (std::exchange(stopped_, true)) return;
    for (const Cpu& cpu : cpus_)
      for (std::size_t event = cpu.events.size(); event-- > 0;)
        ::ioctl(cpu.events[event].get(), PERF_EVENT_IOC_DISABLE, 0);
  }

  std::uint64_t lost_records() override {
    if (!exact_) return counts_.lost;
    std::uint64_t lost = 0;
    for (const Cpu& cpu : cpus_) {
      for (const UniqueFd& event : cpu.events) {
        std::array<std::uint64_t, 2> words{};  // value, lost
        if (::read(event.get(), words.data(), sizeof words) == static_cast<ssize_t>(sizeof words)) lost += words[1];
      }
    }
    return lost;
  }
  std::uint64_t damaged() const override { return counts_.damaged; }
  std::size_t ring_bytes() const override { return ring_bytes_; }

 private:
  std::vector<Cpu> cpus_;
  std::vector<pollfd> polled_;
  bool exact_;
  bool stopped_ = false;
  std::size_t ring_bytes_;
  TraceRingCounts counts_;
};

UniqueFd open_event(std::uint32_t id, int cpu, std::size_t ring_bytes, bool exact) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = id;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attributes.read_format = exact ? kFormatLost : 0;
  attributes.disabled = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1;
  attributes.wakeup_watermark = static_cast<std::uint32_t>(ring_bytes / 4);
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
}

// One descriptor per event and CPU.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

class LinuxTracepoints final : public Tracepoints {
 public:
  explicit LinuxTracepoints(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  Reading<TraceFormat> format(std::string_view system, std::string_view event) override {
    auto root = events_folder();
    if (!root) return root.propagate<TraceFormat>();
    std::array<char, 16384> buffer;
    const std::string path = std::string(system) + "/" + std::string(event) + "/format";
    const auto text = events_->read(path, buffer);
    if (!text) return text.propagate<TraceFormat>();
    auto format = parse_trace_format(*text);
    if (!format) return Failure{std::make_error_code(std::errc::bad_message), "events/" + path};
    return std::move(*format);
  }

  Reading<std::unique_ptr<TraceSession>> open(const TraceRequest& request) override {
    raise_descriptor_limit();
    const long configured = ::sysconf(_SC_NPROCESSORS_CONF);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t ring_bytes = kSmallestRing;
    while (ring_bytes * 2 <= std::max(request.ring_bytes, page)) ring_bytes *= 2;
    while (ring_bytes > request.ring_bytes && ring_bytes > page) ring_bytes /= 2;
    bool exact = true;
    for (;;) {
      std::vector<Cpu> cpus;
      int error = 0;
      for (int number = 0; number < configured && error == 0; ++number) {
        Cpu cpu;
        cpu.number = static_cast<std::uint32_t>(number);
        error = open_cpu(request, number, ring_bytes, page, exact, cpu);
        if (error == ENODEV && !cpus.empty()) {  // this CPU is offline
          error = 0;
          continue;
        }
        cpus.push_back(std::move(cpu));
      }
      if (error == 0) {
        auto session = std::make_unique<LinuxTraceSession>(std::move(cpus), exact, ring_bytes);
        session->start();
        return std::unique_ptr<TraceSession>(std::move(session));
      }
      if (error == EINVAL && exact) {
        exact = false;
      } else if ((error == EPERM || error == ENOMEM) && mapping_refused_ &&
                 ring_bytes > std::max(kSmallestRing, page)) {
        ring_bytes /= 2;  // more than perf_event_mlock_kb allows
      } else if (error == ENOSYS) {
        return Absent{Reason::permission, ENOSYS};
      } else {
        return outcome_of_errno<std::unique_ptr<TraceSession>>(error, "perf_event_open of a tracepoint");
      }
    }
  }

 private:
  Reading<Unit> events_folder() {
    if (events_) return Unit{};
    Absent why{Reason::kernel, ENOENT};
    for (const std::string& root : roots_) {
      try {
        auto folder = open_root(root)->open_directory("events");
        if (folder) {
          events_ = std::move(*folder);
          return Unit{};
        }
        if (folder.is_absent() && folder.absent().reason == Reason::permission) why = folder.absent();
      } catch (const std::system_error& error) {
        if (error.code().value() == EACCES || error.code().value() == EPERM)
          why = {Reason::permission, error.code().value()};
      }
    }
    return why;
  }

  int open_cpu(const TraceRequest& request, int number, std::size_t ring_bytes, std::size_t page, bool exact,
               Cpu& cpu) {
    mapping_refused_ = false;
    for (const std::uint32_t event : request.events) {
      UniqueFd fd = open_event(event, number, ring_bytes, exact);
      if (!fd) return errno;
      if (cpu.events.empty()) {
        void* const memory = ::mmap(nullptr, page + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
        if (memory == MAP_FAILED) {
          mapping_refused_ = true;
          return errno;
        }
        cpu.ring.emplace_back(memory, ring_bytes, page);
      } else if (::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, cpu.events.front().get()) != 0) {
        return errno;
      }
      cpu.events.push_back(std::move(fd));
    }
    return 0;
  }

  std::vector<std::string> roots_;
  std::unique_ptr<Directory> events_;
  bool mapping_refused_ = false;
};

}  // namespace

std::unique_ptr<Tracepoints> system_tracepoints(const std::string& root) {
  if (!root.empty()) return std::make_unique<LinuxTracepoints>(std::vector<std::string>{root});
  return std::make_unique<LinuxTracepoints>(
      std::vector<std::string>{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"});
}

}  // namespace igpu
