// SPDX-License-Identifier: Apache-2.0
#include "igpu/job_recorder.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "igpu/token_bucket.h"
#include "kernel/clients/cgroup_names.h"
#include "kernel/clients/container_names.h"
#include "kernel/clients/process.h"
#include "kernel/clients/workload_naming.h"
#include "machine/filesystem.h"
#include "machine/machine.h"
#include "machine/tracepoints.h"
#include "trace/job_events.h"
#include "trace/job_pairing.h"

namespace igpu {
namespace {

constexpr std::size_t kThreads = 65'536;  // submitting threads, and threads within a call or a wait
constexpr std::size_t kSkipped = 65'536;  // jobs in flight that are not recorded
constexpr std::uint64_t kSettleNs = 2'000'000;

// What --cpu records beside the jobs.
struct CpuFormats {
  TraceFormat cpu_switch, ioctl_enter, ioctl_exit;
};

struct IoctlEdge {
  bool begins = false;
  std::uint64_t time_ns = 0;
  std::uint32_t pid = 0, tid = 0, command = 0;
};

template <class T>
bool allows(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

class Recorder final : public JobRecorder {
 public:
  Recorder(const JobRecorderOptions& options, JobEventReader reader, std::unique_ptr<Tracepoints> owned,
           std::unique_ptr<Directory> owned_proc, const Directory* proc, std::unique_ptr<Directory> root, JobSink& sink)
      : options_(options),
        reader_(std::move(reader)),
        owned_(std::move(owned)),
        owned_proc_(std::move(owned_proc)),
        proc_(owned_proc_ ? owned_proc_.get() : proc),
        root_(std::move(root)),
        container_names_(root_ ? std::optional<ContainerNames>(std::in_place, *root_) : std::nullopt),
        naming_(WorkloadBy::pod, container_names_ ? &*container_names_ : nullptr),
        sink_(sink),
        pairing_([this](const Job& job) { finished(job); }) {}

  void start(std::unique_ptr<TraceSession> session, std::optional<CpuFormats> cpu) {
    session_ = std::move(session);
    cpu_ = std::move(cpu);
  }

  void poll(std::chrono::milliseconds wait) override {
    session_->wait(wait);
    drain();
  }

  void finish() override {
    session_->stop();
    drain();
    hand_on(~std::uint64_t{0});
    counts_.lost = session_->lost_records();
    pairing_.finish();
  }

  const JobRecorderCounts& counts() override {
    counts_.lost = session_->lost_records();
    counts_.damaged = session_->damaged();
    counts_.unmatched = pairing_.counts().unmatched;
    counts_.evicted = pairing_.counts().evicted + pairing_.counts().replaced;
    return counts_;
  }

  std::size_t ring_bytes() const override { return session_->ring_bytes(); }

  std::vector<std::string> tracepoints() const override {
    std::vector<std::string> names;
    for (const JobTracepoint& tracepoint : reader_.tracepoints())
      names.push_back(std::string(tracepoint.system) + ":" + std::string(tracepoint.event));
    return names;
  }

  const JobEventReader& reader() const { return reader_; }

 private:
  using Item = std::variant<JobEvent, FenceWaitEvent, IoctlEdge, CpuSwitch>;

  void drain() {
    std::uint64_t newest = 0;
    session_->drain([&](const TraceRecord& record) {
      ++counts_.events;
      newest = std::max(newest, record.time_ns);
      if (auto event = reader_.job_event(record)) {
        if (event->kind == JobEventKind::submitted) event->comm = comm_of(event->pid, event->time_ns);
        hold(record.time_ns, *event);
      } else if (const auto wait = reader_.wait_event(record)) {
        hold(record.time_ns, *wait);
      } else if (!reader_.reads(record) && !cpu_event(record)) {
        ++counts_.unknown;
      }
    });
    newest_ = std::max(newest_, newest);
    // Each CPU's ring is in order. An event of another CPU that is older than the newest one by this much is in its
    // ring by now.
    hand_on(newest_ > kSettleNs ? newest_ - kSettleNs : 0);
  }

  void hold(std::uint64_t time, const Item& item) { held_.emplace_back(time, item); }

  // Hands what happened until then to the pairing, in the order of time.
  void hand_on(std::uint64_t until) {
    order_.clear();  // sorted instead of the items, which are large
    for (std::size_t i = 0; i < held_.size(); ++i) order_.emplace_back(held_[i].first, i);
    merge_runs();
    for (const auto& [time, place] : order_) {
      if (time <= until)
        std::visit([this](const auto& item) { handle(item); }, held_[place].second);
      else
        later_.push_back(std::move(held_[place]));
    }
    held_.swap(later_);
    later_.clear();
  }

  // Sorts order_. What comes from one CPU is in order already, so these runs are merged, two at a time.
  void merge_runs() {
    runs_.assign(1, 0);
    for (std::size_t i = 1; i < order_.size(); ++i)
      if (order_[i] < order_[i - 1]) runs_.push_back(i);
    const std::size_t count = runs_.size();
    runs_.push_back(order_.size());
    const auto at = [&](std::size_t run) { return order_.begin() + static_cast<std::ptrdiff_t>(runs_[run]); };
    for (std::size_t width = 1; width < count; width *= 2)
      for (std::size_t run = 0; run + width < count; run += 2 * width)
        std::inplace_merge(at(run), at(run + width), at(std::min(run + 2 * width, count)));
  }

  bool cpu_event(const TraceRecord& record) {
    if (!cpu_) return false;
    const std::uint32_t id = record.event_id();
    if (id == cpu_->cpu_switch.id) {
      const auto number = [&](std::string_view name) {
        const TraceField* const field = cpu_->cpu_switch.find(name);
        return field == nullptr ? 0 : static_cast<std::int64_t>(record.number(*field));
      };
      const auto text = [&](std::string_view name) {
        const TraceField* const field = cpu_->cpu_switch.find(name);
        return field == nullptr ? std::string_view{} : record.text(*field);
      };
      CpuSwitch event;
      event.time_ns = record.time_ns;
      event.cpu = record.cpu;
      event.previous_tid = static_cast<std::int32_t>(number("prev_pid"));
      event.previous_priority = static_cast<std::int32_t>(number("prev_prio"));
      event.previous_state = number("prev_state");
      event.next_tid = static_cast<std::int32_t>(number("next_pid"));
      event.next_priority = static_cast<std::int32_t>(number("next_prio"));
      event.previous_comm = text("prev_comm");
      event.next_comm = text("next_comm");
      hold(record.time_ns, event);
      return true;
    }
    if (id != cpu_->ioctl_enter.id && id != cpu_->ioctl_exit.id) return false;
    IoctlEdge edge;
    edge.begins = id == cpu_->ioctl_enter.id;
    edge.time_ns = record.time_ns;
    edge.pid = record.pid != 0 ? record.pid : record.tid;
    edge.tid = record.tid;
    if (const TraceField* const command = cpu_->ioctl_enter.find("cmd"); edge.begins && command != nullptr)
      edge.command = static_cast<std::uint32_t>(record.number(*command));
    hold(record.time_ns, edge);
    return true;
  }

  void handle(const JobEvent& event) {
    if (event.kind == JobEventKind::submitted) return submitted(event);
    const auto skipped = skipped_.find(event.key);
    if (skipped == skipped_.end()) {
      // A dependency that an older kernel names by its ring may be of a job that is not recorded.
      if (event.key == JobKey{} && !skipped_.empty()) return;
      return pairing_.add(event);
    }
    if (event.kind == JobEventKind::ended || event.kind == JobEventKind::retired) skipped_.erase(skipped);
  }

  void submitted(const JobEvent& event) {
    ++counts_.submitted;
    if (threads_.size() < kThreads) threads_.insert(event.tid);
    std::uint64_t* const reason = reason_to_skip(event);
    if (reason == nullptr) {
      skipped_.erase(event.key);
      return pairing_.add(event);
    }
    ++*reason;
    pairing_.forget(event.key);
    if (skipped_.size() >= kSkipped) skipped_.clear();
    skipped_.insert(event.key);
  }

  std::uint64_t* reason_to_skip(const JobEvent& event) {
    if (!allows(options_.devices, std::string(event.device.view())) ||
        !allows(options_.rings, std::string(event.ring.view())) || !allows(options_.classes, event.engine_class) ||
        !allows(options_.pids, event.pid))
      return &counts_.filtered;
    if (options_.sample > 1 && sampled_++ % options_.sample != 0) return &counts_.not_sampled;
    return bucket_.take_token(rate_, TokenBucket::Time(Nanoseconds(event.time_ns))) ? nullptr : &counts_.rate_limited;
  }

  void handle(const FenceWaitEvent& event) {
    if (event.begins) {
      if (waits_.size() >= kThreads) waits_.clear();
      waits_[event.tid] = event;
      return;
    }
    const auto begin = waits_.find(event.tid);
    if (begin == waits_.end()) return;
    if (begin->second.fence == event.fence)
      sink_.add(FenceWait{event.pid, event.tid, begin->second.time_ns, event.time_ns, event.fence});
    waits_.erase(begin);
  }

  void handle(const IoctlEdge& edge) {
    if (edge.begins) {
      if (calls_.size() >= kThreads) calls_.clear();
      calls_[edge.tid] = edge;
      return;
    }
    const auto begin = calls_.find(edge.tid);
    if (begin == calls_.end()) return;
    if (threads_.contains(edge.tid))
      sink_.add(IoctlCall{edge.pid, edge.tid, begin->second.time_ns, edge.time_ns, begin->second.command});
    calls_.erase(begin);
  }

  void handle(const CpuSwitch& event) { sink_.add(event); }

  void finished(const Job& job) {
    ++counts_.recorded;
    sink_.add(job);
  }

  ShortText<16> comm_of(std::uint32_t pid, std::uint64_t time_ns) {
    if (proc_ == nullptr) return {};
    const auto known = comms_.find(pid);
    if (known != comms_.end()) return known->second;
    if (comms_.size() >= kThreads) comms_.clear();
    std::array<char, 64> buffer;
    const auto text = proc_->read(std::to_string(pid) + "/comm", buffer);
    ShortText<16> comm;
    if (text) {
      comm = text->substr(0, text->find('\n'));
      report_process(pid, comm.view(), time_ns);
    }
    return comms_[pid] = comm;
  }

  void report_process(std::uint32_t pid, std::string_view comm, std::uint64_t time_ns) {
    ClientProcess process;
    process.pid = pid;
    process.comm = comm;
    std::array<char, 16384> buffer;
    if (const auto cgroup = proc_->read(std::to_string(pid) + "/cgroup", buffer))
      set_cgroup(process, most_specific_cgroup(*cgroup));
    if (container_names_) container_names_->begin_scan(Nanoseconds(time_ns));
    sink_.add(JobProcess{time_ns, pid, naming_.labels_of({process}).workload});
  }

  JobRecorderOptions options_;
  JobEventReader reader_;
  std::unique_ptr<Tracepoints> owned_;
  std::unique_ptr<Directory> owned_proc_;
  const Directory* proc_;
  std::unique_ptr<Directory> root_;
  std::optional<ContainerNames> container_names_;
  WorkloadNaming naming_;
  JobSink& sink_;
  // Up to a second's worth of jobs at once.
  const RateLimit rate_{Nanoseconds(options_.max_rate == 0 ? 0 : 1'000'000'000 / options_.max_rate),
                        static_cast<unsigned>(options_.max_rate)};
  TokenBucket bucket_;
  JobPairing pairing_;
  std::unique_ptr<TraceSession> session_;
  std::optional<CpuFormats> cpu_;
  JobRecorderCounts counts_;
  std::uint64_t newest_ = 0, sampled_ = 0;
  std::vector<std::pair<std::uint64_t, Item>> held_, later_;
  std::vector<std::pair<std::uint64_t, std::size_t>> order_;  // time and place in held_
  std::vector<std::size_t> runs_;                             // where each begins in order_, and the end
  std::unordered_set<JobKey, JobKeyHash> skipped_;
  std::unordered_set<std::uint32_t> threads_;
  std::unordered_map<std::uint32_t, FenceWaitEvent> waits_;
  std::unordered_map<std::uint32_t, IoctlEdge> calls_;
  std::unordered_map<std::uint32_t, ShortText<16>> comms_;
};

template <class T>
JobRecorderError error_of(const Reading<T>& reading, JobRecorderError::Kind denied) {
  JobRecorderError error;
  if (reading.is_failure())
    return {JobRecorderError::Kind::failed, reading.failure().code.value(), reading.failure().where};
  error.os_error = reading.absent().os_error;
  error.kind = reading.absent().reason == Reason::permission ? denied : JobRecorderError::Kind::no_events;
  return error;
}

std::unique_ptr<JobRecorder> open_over(const JobRecorderOptions& options, Tracepoints& tracepoints,
                                       std::unique_ptr<Tracepoints> owned, std::unique_ptr<Directory> owned_proc,
                                       const Directory* proc, std::unique_ptr<Directory> root, JobSink& sink,
                                       JobRecorderError& error) {
  JobEventOptions wanted;
  wanted.waits = options.waits;
  wanted.several_cards = options.several_cards;
  for (const std::string& name : options.events)
    if (const auto layout = job_layout_named(name)) wanted.only.push_back(*layout);
  auto reader = JobEventReader::choose(
      [&](std::string_view system, std::string_view event) { return tracepoints.format(system, event); }, wanted);
  if (!reader) {
    error = error_of(reader, JobRecorderError::Kind::tracefs_denied);
    return nullptr;
  }
  TraceRequest request;
  request.ring_bytes = options.ring_bytes;
  for (const JobTracepoint& tracepoint : reader->tracepoints()) request.events.push_back(tracepoint.id);
  std::optional<CpuFormats> cpu;
  if (options.cpu) {
    auto cpu_switch = tracepoints.format("sched", "sched_switch");
    auto enter = tracepoints.format("syscalls", "sys_enter_ioctl");
    auto exit = tracepoints.format("syscalls", "sys_exit_ioctl");
    cpu.emplace();
    if (cpu_switch) cpu->cpu_switch = std::move(*cpu_switch);
    if (enter && exit) {
      cpu->ioctl_enter = std::move(*enter);
      cpu->ioctl_exit = std::move(*exit);
    }
    for (const TraceFormat* const format : {&cpu->cpu_switch, &cpu->ioctl_exit, &cpu->ioctl_enter})
      if (format->id != 0) request.events.push_back(format->id);
  }
  auto recorder = std::make_unique<Recorder>(options, std::move(*reader), std::move(owned), std::move(owned_proc), proc,
                                             std::move(root), sink);
  auto session = tracepoints.open(request);
  if (!session) {
    error = error_of(session, JobRecorderError::Kind::perf_denied);
    return nullptr;
  }
  recorder->start(std::move(*session), std::move(cpu));
  return recorder;
}

}  // namespace

std::unique_ptr<JobRecorder> open_job_recorder(const JobRecorderOptions& options, JobSink& sink,
                                               JobRecorderError& error) {
  auto tracepoints = system_tracepoints(options.tracefs);
  Tracepoints& used = *tracepoints;
  return open_over(options, used, std::move(tracepoints), open_root("/proc"), nullptr, open_root("/"), sink, error);
}

std::unique_ptr<JobRecorder> open_job_recorder(const JobRecorderOptions& options, Tracepoints& tracepoints,
                                               const Directory* proc, JobSink& sink, JobRecorderError& error) {
  return open_over(options, tracepoints, nullptr, nullptr, proc, nullptr, sink, error);
}

std::vector<std::string_view> job_event_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kJobLayouts; ++i) names.push_back(to_string(static_cast<JobLayout>(i)));
  return names;
}

}  // namespace igpu
