// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/follower.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "platform/thread.h"

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCheckInterval(1);

// For a thread that may outlive the log.
class DetachableLog final : public Log {
 public:
  explicit DetachableLog(Log& log) : log_(&log) {}
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) override {
    const std::lock_guard lock(mutex_);
    if (log_ != nullptr) log_->write(level, message, fields);
  }
  void detach() {
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

  bool hangs(Clock::time_point now) const { return requested && now - requested_at >= options.hang_timeout; }

  const Options options;
  DetachableLog log;
  WebConfigFile file;

  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable done;
  bool requested = false;  // until the check is done
  bool ending = false;
  bool slow = false;         // the last check took longer than reload_wait
  bool hang_logged = false;  // of the current check
  Clock::time_point requested_at;
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
    shared_->wake.notify_all();
    stuck = !shared_->done.wait_for(lock, shared_->options.stop_timeout, [this] { return !shared_->requested; });
  }
  if (stuck) {
    shared_->log.detach();
    thread_.detach();  // it owns what it uses, and ends with the process
  } else {
    thread_.join();
  }
}

void WebConfigFollower::start() {
  thread_ = std::thread([shared = shared_] { run(shared); });
}

void WebConfigFollower::run(const std::shared_ptr<Shared>& shared) {
  name_thread("web-config");
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->wake.wait(lock, [&] { return shared->requested || shared->ending; });
    if (!shared->requested) return;
    lock.unlock();
    const auto began = Clock::now();
    try {
      shared->file.reload_if_changed();
    } catch (const std::exception& error) {  // out of memory
      shared->log.write(LogLevel::error, "the web configuration could not be checked",
                        {{"error", error.what()}, {"hint", "raise the memory limit (MemoryMax=, the container's)"}});
    }
    const bool slow = Clock::now() - began > shared->options.reload_wait;
    lock.lock();
    shared->requested = false;
    shared->slow = slow;
    if (std::exchange(shared->hang_logged, false)) {
      shared->log.write(LogLevel::info, "the web configuration can be read again", {});
    }
    shared->done.notify_all();
  }
}

void WebConfigFollower::request_check() {
  const Clock::time_point now = shared_->options.now();
  std::unique_lock lock(shared_->mutex);
  if (shared_->requested) {
    if (!shared_->hangs(now) || std::exchange(shared_->hang_logged, true)) return;
    lock.unlock();
    log_.write(LogLevel::error,
               "the web configuration cannot be read: the file system does not respond; the current configuration "
               "stays in use",
               {{"file", path_}, {"hint", "check the file systems of this file and of the files that it names"}});
    return;
  }
  if (now < shared_->next_check) return;
  shared_->next_check = now + kCheckInterval;
  shared_->requested = true;
  shared_->requested_at = now;
  shared_->wake.notify_one();
  if (shared_->slow) return;
  shared_->slow = !shared_->done.wait_for(lock, shared_->options.reload_wait, [this] { return !shared_->requested; });
}

std::shared_ptr<const LoadedWebConfig> WebConfigFollower::current() {
  if (thread_.joinable()) request_check();
  return shared_->file.loaded();
}

std::vector<std::string> WebConfigFollower::files() const { return shared_->file.files(); }

bool WebConfigFollower::successful() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->file.successful() && !shared_->hangs(shared_->options.now());
}

}  // namespace igpu::exporter
