// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/web_config_file.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "platform/thread.h"

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr ReloadLog::Messages kMessages{
    .invalid = "the web configuration is not valid; the earlier one stays in use",
    .reloaded = "the web configuration was reloaded",
    .valid_again = "the web configuration is valid again",
};

// name: prefix of error messages.
std::string read_file(const std::string& path, const std::string& name, bool at_start) {
  try {
    return read_config_file(path, name);
  } catch (const FileError& error) {
    std::string text = error.what();
    if (error.error() == EACCES && !at_start)
      text += "; reading from a folder that was not named at start requires a restart";
    if (error.error() == ENOENT && name != path) text += "; paths are relative to the folder of the configuration";
    throw std::runtime_error(text);
  }
}

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  }
  void add(std::string_view text) {
    const std::uint64_t size = text.size();
    EVP_DigestUpdate(context_.get(), &size, sizeof size);
    EVP_DigestUpdate(context_.get(), text.data(), text.size());
  }
  std::string finish() {
    std::string out(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(out.data()), &size);
    out.resize(size);
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

// A number that differs if the rules for client certificates differ.
std::uint64_t tls_policy_of(const TlsSettings& tls, std::string_view client_ca) {
  Digest digest;
  const auto type = static_cast<char>(tls.client_auth);
  digest.add({&type, 1});
  digest.add(client_ca);
  for (const std::string& name : tls.allowed_sans) digest.add(name);
  const std::string bytes = digest.finish();
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// Why the change requires a restart, as a half-written file may look the same; "" if it does not.
std::string restart_reason(const WebConfig& before, const WebConfig& after) {
  if (before.tls && !after.tls) return "tls_server_config was removed: TLS would be turned off";
  if (!before.tls && after.tls) return "tls_server_config was added: TLS would be turned on";
  const std::string keys = weaker_keys(before, after);
  return keys.empty() ? keys : "weaker than before: " + keys;
}

struct Wiped {
  std::string text;
  ~Wiped() { OPENSSL_cleanse(text.data(), text.size()); }
};

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

struct WebConfigFile::Attempt {
  FileStamps stamps;
  std::shared_ptr<LoadedWebConfig> loaded;  // null: error
  std::vector<TlsWarning> warnings;
  std::string digest;
  std::string error;
};

WebConfigFile::WebConfigFile(std::string path, Log& log)
    : path_(std::move(path)),
      log_(log),
      reload_log_(log, kMessages, path_,
                  "correct it; `intel-gpu-exporter doctor --web.config.file=" + path_ + "` checks it") {
  Attempt attempt = load();
  if (!attempt.loaded) throw FlagFileError("web.config.file", attempt.error);
  for (const TlsWarning& warning : attempt.warnings)
    log_.write(LogLevel::warn, warning.message, {{"hint", warning.hint}});
  stamps_ = std::move(attempt.stamps);
  digest_ = std::move(attempt.digest);
  loaded_ = std::move(attempt.loaded);
}

WebConfigFile::Attempt WebConfigFile::load() const {
  Attempt attempt;
  const bool at_start = loaded_ == nullptr;
  try {
    attempt.stamps.add(path_);
    const Wiped text{read_file(path_, path_, at_start)};
    auto loaded = std::make_shared<LoadedWebConfig>();
    loaded->config = parse_web_config(text.text, path_);
    Digest digest;
    digest.add(text.text);
    if (const std::optional<TlsSettings>& tls = loaded->config.tls) {
      const std::array<const PemSource*, 3> sources{&tls->certificate, &tls->private_key, &tls->client_ca};
      for (const PemSource* source : sources) {
        if (!source->path.empty()) attempt.stamps.add(source->path);
      }
      TlsMaterial material;
      const std::array<std::string*, 3> contents{&material.certificate, &material.private_key, &material.client_ca};
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const PemSource& source = *sources[i];
        *contents[i] = source.path.empty() ? source.text : read_file(source.path, source.name(path_), at_start);
        digest.add(*contents[i]);
      }
      TlsContext made = make_tls_context(*tls, material, path_);
      loaded->tls = std::move(made.context);
      loaded->tls_policy = tls_policy_of(*tls, material.client_ca);
      attempt.warnings = std::move(made.warnings);
    }
    attempt.digest = digest.finish();
    attempt.loaded = std::move(loaded);
  } catch (const std::exception& error) {
    attempt.error = error.what();
  }
  return attempt;
}

std::shared_ptr<const LoadedWebConfig> WebConfigFile::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

void WebConfigFile::reload_if_changed() {
  if (stamps_.may_have_changed()) accept(load());
}

void WebConfigFile::accept(Attempt attempt) {
  stamps_ = std::move(attempt.stamps);
  const std::shared_ptr<const LoadedWebConfig> before = loaded();
  if (attempt.loaded) {
    const std::string change = restart_reason(before->config, attempt.loaded->config);
    if (!change.empty()) {
      attempt.error = path_ + ": " + change + "; restart to accept";
      attempt.loaded = nullptr;
    }
  }
  if (!attempt.loaded) {
    successful_ = false;
    reload_log_.failed(attempt.error);
    return;
  }
  successful_ = true;
  const bool changed = attempt.digest != digest_;
  reload_log_.succeeded(changed);
  if (!changed) return;
  for (const TlsWarning& warning : attempt.warnings)
    log_.write(LogLevel::warn, warning.message, {{"hint", warning.hint}});
  digest_ = std::move(attempt.digest);
  const std::lock_guard lock(mutex_);
  loaded_ = std::move(attempt.loaded);
}

std::vector<std::string> WebConfigFile::files() const {
  std::vector<std::string> files{path_};
  const std::lock_guard lock(mutex_);
  if (const std::optional<TlsSettings>& tls = loaded_->config.tls) {
    for (const PemSource* source : {&tls->certificate, &tls->private_key, &tls->client_ca}) {
      if (!source->path.empty()) files.push_back(source->path);
    }
  }
  return files;
}

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
