// SPDX-License-Identifier: Apache-2.0
#include "web_config/follower.h"

#include <pthread.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCheckInterval(1);

constexpr Metric<Flag, 0> kSuccessful{
    "intel_gpu_exporter_web_config_last_reload_successful", Kind::gauge,
    "Whether the latest state of --web.config.file and the files it names is in use; 0 means that an earlier one is."};
constexpr std::array<const MetricDescriptor*, 1> kMetrics{&kSuccessful};

// What a thread that may outlive the log writes to.
class LogUntil final : public Log {
 public:
  explicit LogUntil(Log& log) : log_(&log) {}
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) override {
    const std::lock_guard lock(mutex_);
    if (log_ != nullptr) log_->write(level, message, fields);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    log_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Log* log_;
};

}  // namespace

struct WebConfigFollower::Shared {
  Shared(std::string path, Log& its_log, Options its_options)
      : options(std::move(its_options)), log(its_log), file(std::move(path), log) {}

  bool hangs(Clock::time_point now) const { return asked && now - asked_at >= options.hangs_after; }

  const Options options;
  LogUntil log;
  WebConfigFile file;

  std::mutex mutex;
  std::condition_variable wanted;
  std::condition_variable done;
  bool asked = false;  // until the look is done
  bool ending = false;
  bool slow = false;     // the last look took longer than anybody waits
  bool said_so = false;  // that this one hangs
  Clock::time_point asked_at;
  Clock::time_point next_check;
};

WebConfigFollower::WebConfigFollower(std::string path, Log& log) : WebConfigFollower(std::move(path), log, Options()) {}

WebConfigFollower::WebConfigFollower(std::string path, Log& log, Options options)
    : path_(path), log_(log), shared_(std::make_shared<Shared>(std::move(path), log, std::move(options))) {
  shared_->next_check = shared_->options.now() + kCheckInterval;
}

WebConfigFollower::~WebConfigFollower() {
  if (!thread_.joinable()) return;
  bool stuck = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->ending = true;
    shared_->wanted.notify_all();
    stuck = !shared_->done.wait_for(lock, shared_->options.farewell, [this] { return !shared_->asked; });
  }
  if (stuck) {
    shared_->log.end();
    thread_.detach();  // it holds what it needs, and ends with the process
  } else {
    thread_.join();
  }
}

void WebConfigFollower::start() {
  thread_ = std::thread([shared = shared_] { run(shared); });
}

void WebConfigFollower::run(const std::shared_ptr<Shared>& shared) {
  ::pthread_setname_np(::pthread_self(), "web-config");
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->wanted.wait(lock, [&] { return shared->asked || shared->ending; });
    if (!shared->asked) return;
    lock.unlock();
    const auto began = Clock::now();
    try {
      shared->file.look();
    } catch (const std::exception& error) {  // no memory
      shared->log.write(LogLevel::error, "the web configuration could not be looked at", {{"error", error.what()}});
    }
    const bool slow = Clock::now() - began > shared->options.patience;
    lock.lock();
    shared->asked = false;
    shared->slow = slow;
    if (std::exchange(shared->said_so, false)) {
      shared->log.write(LogLevel::info, "the web configuration can be read again", {});
    }
    shared->done.notify_all();
  }
}

void WebConfigFollower::ask_for_a_look() {
  const Clock::time_point now = shared_->options.now();
  std::unique_lock lock(shared_->mutex);
  if (shared_->asked) {
    if (!shared_->hangs(now) || std::exchange(shared_->said_so, true)) return;
    lock.unlock();
    log_.write(LogLevel::error,
               "the web configuration cannot be read, the file system does not answer; the state in use stays in use",
               {{"file", path_}});
    return;
  }
  if (now < shared_->next_check) return;
  shared_->next_check = now + kCheckInterval;
  shared_->asked = true;
  shared_->asked_at = now;
  shared_->wanted.notify_one();
  if (shared_->slow) return;
  shared_->slow = !shared_->done.wait_for(lock, shared_->options.patience, [this] { return !shared_->asked; });
}

std::shared_ptr<const LoadedWebConfig> WebConfigFollower::current() {
  if (thread_.joinable()) ask_for_a_look();
  return shared_->file.loaded();
}

std::vector<std::string> WebConfigFollower::files() const { return shared_->file.files(); }

std::span<const MetricDescriptor* const> WebConfigFollower::metrics() { return kMetrics; }

void WebConfigFollower::add_to(SampleList& out) const {
  const std::lock_guard lock(shared_->mutex);
  const bool hangs = shared_->hangs(shared_->options.now());
  out.add(kSuccessful, {}, shared_->file.successful() && !hangs ? 1 : 0);
}

}  // namespace igpu::exporter
