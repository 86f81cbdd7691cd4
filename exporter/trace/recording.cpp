// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "cli/options.h"
#include "cli/output.h"
#include "igpu/options.h"
#include "igpu/unique_fd.h"
#include "platform/own_process.h"
#include "platform/regular_file.h"
#include "text/text.h"
#include "trace/trace_file.h"

extern char** environ;

namespace igpu::exporter {
namespace {

constexpr std::chrono::milliseconds kPoll{100};
constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

void say(const std::string& text) { std::fprintf(stderr, "trace: %s\n", clean_text(text).c_str()); }

// ^C and SIGTERM end the recording; the second one ends it without the jobs in flight.
std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free);

class InterruptsCounted {
 public:
  InterruptsCounted() {
    interrupts = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { ++interrupts; };
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
    action.sa_handler = SIG_IGN;  // a full file is reported, not a reason to die
    ::sigaction(SIGXFSZ, &action, &size_);
  }
  ~InterruptsCounted() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
    ::sigaction(SIGXFSZ, &size_, nullptr);
  }
  InterruptsCounted(const InterruptsCounted&) = delete;
  InterruptsCounted& operator=(const InterruptsCounted&) = delete;

 private:
  struct sigaction interrupt_ {
  }, terminate_{}, size_{};
};

// An older file stays as it is until the recording begins.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : path_(path), is_new_(::access(path.c_str(), F_OK) != 0), fd_(opened(path)) {}
  ~OutputFile() {
    if (is_new_ && !begun_) ::unlink(path_.c_str());
  }
  void begin() {
    begun_ = true;
    (void)!::ftruncate(fd_.get(), 0);  // not for a device
  }
  void write(std::string_view bytes) {
    if (error_ == 0) error_ = write_all(fd_.get(), bytes);
  }
  // errno of the first write that failed; nothing is written after it.
  int error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  static UniqueFd opened(const std::string& path) {
    try {
      return open_to_write(path);
    } catch (const FileError& error) {
      throw std::runtime_error("trace: " + path + ": " + error.what());
    }
  }

  std::string path_;
  bool is_new_, begun_ = false;
  UniqueFd fd_;
  int error_ = 0;
};

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// xe's cards on this machine; their older events do not say which card a ring belongs to.
std::size_t xe_cards() {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/drm", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("card") || name.find('-') != std::string::npos) continue;
    const auto driver = std::filesystem::read_symlink(entry.path() / "device/driver", error);
    if (!error && driver.filename() == "xe") ++count;
  }
  return count;
}

std::string size_text(std::uint64_t bytes) { return formatted("%.1f MiB", static_cast<double>(bytes) / (1 << 20)); }

// Only i915 and amdgpu report engines.
void check_engines(const TraceArguments& arguments, const JobRecorder& recorder) {
  if (arguments.recorder.rings.empty()) return;
  const auto tracepoints = recorder.tracepoints();
  if (std::ranges::any_of(tracepoints, [](const std::string& name) { return name.starts_with("i915:"); })) return;
  for (const std::string& ring : arguments.recorder.rings) {
    const std::size_t digits = ring.find_last_not_of("0123456789") + 1;
    const std::string name = ring.substr(0, digits);
    if (name == "rcs" || name == "bcs" || name == "vcs" || name == "vecs" || name == "ccs")
      throw OptionError("engine", "\"" + ring +
                                      "\": xe reports only the class of an engine; use --class render, copy, video, "
                                      "video_enhance or compute");
  }
}

class Recording {
 public:
  explicit Recording(const TraceArguments& arguments)
      : arguments_(arguments),
        file_(arguments.output),
        writer_([this](std::string_view bytes) { file_.write(bytes); },
                {now(CLOCK_MONOTONIC), now(CLOCK_BOOTTIME), now(CLOCK_REALTIME)}) {}

  int run() {
    JobRecorderOptions options = arguments_.recorder;
    options.several_cards = xe_cards() > 1;
    const InterruptsCounted counted;
    JobRecorderError error;
    recorder_ = open_job_recorder(options, writer_, error);
    if (!recorder_) {
      say(explained(error, options));
      return EXIT_FAILURE;
    }
    check_engines(arguments_, *recorder_);
    file_.begin();
    if (recorder_->ring_bytes() < options.ring_bytes)
      say("rings of " + std::to_string(recorder_->ring_bytes() >> 10) +
          " KiB per CPU: the kernel allows no more (sysctl kernel.perf_event_mlock_kb, CAP_IPC_LOCK)");
    if (!arguments_.command.empty()) child_ = spawn(arguments_.command, environ, {SIGINT, SIGTERM, SIGXFSZ});
    loop();
    return end();
  }

 private:
  bool command_ended() {
    if (!child_) return false;
    int status = 0;
    const pid_t ended = ::waitpid(*child_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended == *child_) status_ = exit_status(status);
    return true;
  }

  void loop() {
    const std::uint64_t begin = now(CLOCK_MONOTONIC);
    const std::uint64_t until = arguments_.duration.count() == 0
                                    ? 0
                                    : begin + static_cast<std::uint64_t>(arguments_.duration.count()) * 1'000'000;
    std::uint64_t reported = begin, events = 0;
    for (bool ended = false; !ended;) {
      // The command's last events are in the rings when it has ended: one more round reads them.
      ended = command_ended() || file_.error() != 0 || (interrupts > 0 && !child_) || interrupts > 1;
      const std::uint64_t time = now(CLOCK_MONOTONIC);
      if (until != 0 && time >= until) ended = true;
      auto wait = kPoll;
      if (until > time) wait = std::min(wait, std::chrono::milliseconds((until - time) / 1'000'000 + 1));
      recorder_->poll(ended ? std::chrono::milliseconds(0) : wait);
      if (writer_.bytes() >= arguments_.max_size) {
        full_ = true;
        ended = true;
      }
      if (time - reported < kSecond) continue;
      const JobRecorderCounts& counts = recorder_->counts();
      writer_.add_counts(counts, time, false);
      writer_.flush();
      if (::isatty(STDERR_FILENO) != 0)
        std::fprintf(stderr, "\r%llu events/s, %llu jobs, %llu lost, %s  ",
                     static_cast<unsigned long long>((counts.events - events) * kSecond / (time - reported)),
                     static_cast<unsigned long long>(counts.recorded), static_cast<unsigned long long>(counts.lost),
                     size_text(writer_.bytes()).c_str());
      events = counts.events;
      reported = time;
    }
    if (::isatty(STDERR_FILENO) != 0) std::fputs("\n", stderr);
  }

  int end() {
    const bool aborted = interrupts > 1;
    if (!aborted) recorder_->finish();
    const JobRecorderCounts& counts = recorder_->counts();
    writer_.add_counts(counts, now(CLOCK_MONOTONIC), !aborted);
    writer_.flush();
    if (file_.error() != 0) {
      say(file_.path() + ": " + std::generic_category().message(file_.error()) + "; what was written is readable");
      return EXIT_FAILURE;
    }
    if (aborted) {
      say("interrupted twice: " + file_.path() + " lacks the jobs that were in flight");
      return EXIT_FAILURE;
    }
    if (full_) say(file_.path() + " reached --max-size");
    say(file_.path() + ": " + std::to_string(counts.recorded) + " jobs, " + std::to_string(counts.events) +
        " events, " + std::to_string(counts.lost) + " lost, " + size_text(writer_.bytes()));
    return status_;
  }

  const TraceArguments& arguments_;
  OutputFile file_;
  PerfettoWriter writer_;
  std::unique_ptr<JobRecorder> recorder_;
  std::optional<pid_t> child_;
  int status_ = EXIT_SUCCESS;
  bool full_ = false;
};

constexpr std::size_t kLargestRecording = std::size_t{4} << 30;
constexpr std::size_t kRecordingHead = 1 << 16;  // enough to know a recording

TraceFile recorded_in(const std::string& path) {
  try {
    if (read_trace(RegularFile(path).first(kRecordingHead)))
      if (auto file = read_trace(read_regular_file(path, kLargestRecording))) return std::move(*file);
  } catch (const FileError& error) {
    const std::string text = "trace: " + path + ": " + error.what();
    if (error.error() == 0) throw UsageError(text);
    throw std::runtime_error(text);
  }
  throw UsageError("trace: " + path + " was not written by trace record (for a trace.dat use trace-cmd)");
}

std::string output_of(const TraceArguments& arguments, const TraceFile& file) {
  if (arguments.action == "timeline") return trace_summary(file) + timeline(file, arguments);
  if (arguments.action == "export") return jobs_csv(file);
  std::string text;
  if (arguments.top != 0) text += top_jobs(file, arguments.top);
  if (arguments.histogram != TraceArguments::Histogram::none) text += job_histogram(file, arguments.histogram);
  if (!arguments.by.empty()) text += jobs_by(file, arguments.by);
  return text.empty() ? trace_overview(file) : trace_summary(file) + "\n" + text;
}

// After what was whole.
int damage(const std::string& path, const TraceFile& file) {
  std::string what;
  if (file.cut_off_at)
    what = " ends inside a packet at byte " + std::to_string(*file.cut_off_at);
  else if (file.damaged_at)
    what = " is damaged at byte " + std::to_string(*file.damaged_at) + ": " + std::to_string(file.damaged) +
           " packets left out";
  std::fprintf(stderr, "trace: %s%s\n", clean_text(path).c_str(), what.c_str());
  return EXIT_FAILURE;
}

}  // namespace

std::string explained(const JobRecorderError& error, const JobRecorderOptions& options) {
  const std::string where = options.tracefs.empty() ? "/sys/kernel/tracing" : options.tracefs;
  switch (error.kind) {
    case JobRecorderError::Kind::no_events:
      return "no driver here reports jobs: no events of gpu_scheduler, i915, amdgpu or virtio_gpu below " + where +
             "/events; is tracefs mounted and the GPU's driver loaded?";
    case JobRecorderError::Kind::tracefs_denied:
      return where + " cannot be read: that needs root or CAP_DAC_READ_SEARCH";
    case JobRecorderError::Kind::perf_denied: {
      const std::string users = first_line("/proc/self/uid_map");
      if (users.find("4294967295") == std::string::npos)
        return "perf_event_open was refused: this is a user namespace, where tracepoints cannot be opened";
      const std::string level = first_line("/proc/sys/kernel/perf_event_paranoid");
      if (!level.empty() && level > "2" && level.front() != '-')
        return "perf_event_open was refused: kernel.perf_event_paranoid is " + level +
               ", which allows only CAP_SYS_ADMIN; sysctl kernel.perf_event_paranoid=2 makes CAP_PERFMON enough";
      return "perf_event_open was refused: CAP_PERFMON is missing, or a container's seccomp profile forbids it";
    }
    case JobRecorderError::Kind::failed: return error.where + ": " + std::generic_category().message(error.os_error);
  }
  return {};
}

int trace(const Options& options) {
  const TraceArguments& arguments = options.trace;
  if (arguments.action == "record") return Recording(arguments).run();
  const TraceFile file = recorded_in(arguments.file);
  const int status = print(output_of(arguments, file));
  return file.whole() ? status : damage(arguments.file, file);
}

}  // namespace igpu::exporter
