// SPDX-License-Identifier: Apache-2.0
#include "web_config/web_config_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include "service/descriptor.h"
#include "web_config/weaker.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargest = 1U << 20;

std::string error_text(int error) { return std::generic_category().message(error); }

// name: prefix of error messages. Reads regular files of up to a megabyte.
std::string read_file(const std::string& path, const std::string& name, bool at_start) {
  const auto fail = [&](int error) {
    std::string text = name + " cannot be read: " + error_text(error);
    if (error == EACCES)
      text += "; the exporter runs as user " + std::to_string(::geteuid()) + ", which needs read permission";
    if (error == EACCES && !at_start) text += "; reading from a folder that was not named at start requires a restart";
    if (error == ENOENT && name != path) text += "; paths are relative to the folder of the configuration";
    throw std::runtime_error(text);
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) fail(errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(errno);
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(name + " is not a regular file, so it cannot be read again");
  std::string text(kLargest + 1, '\0');  // allocated once: growing would leave copies of a key in memory
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kLargest) throw std::runtime_error(name + " is larger than 1 MiB");
  text.resize(size);
  return text;
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
  std::string take() {
    std::string out(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(out.data()), &size);
    out.resize(size);
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

// Changed so recently that another change may not alter the time stamp.
bool recent(const timespec& changed) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return changed.tv_sec >= now.tv_sec - 2 && changed.tv_sec <= now.tv_sec + 2;
}

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

// A number that differs if the rules for client certificates differ.
std::uint64_t tls_policy_of(const TlsSettings& tls, std::string_view client_ca) {
  Digest digest;
  const auto type = static_cast<char>(tls.client_auth);
  digest.add({&type, 1});
  digest.add(client_ca);
  for (const std::string& name : tls.allowed_sans) digest.add(name);
  const std::string bytes = digest.take();
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
  ~Wiped() { ::explicit_bzero(text.data(), text.size()); }
};

}  // namespace

struct WebConfigFile::Attempt {
  std::vector<Stamp> stamps;
  bool settled = true;
  std::shared_ptr<LoadedWebConfig> loaded;  // null: error
  std::vector<TlsWarning> warnings;
  std::string digest;
  std::string error;
};

bool WebConfigFile::Stamp::operator==(const Stamp& other) const {
  return path == other.path && error == other.error && device == other.device && inode == other.inode &&
         size == other.size && same(modified, other.modified) && same(changed, other.changed);
}

WebConfigFile::Stamp WebConfigFile::stamp_of(const std::string& path) {
  Stamp stamp;
  stamp.path = path;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    stamp.error = errno;
    return stamp;
  }
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  stamp.size = status.st_size;
  stamp.modified = status.st_mtim;
  stamp.changed = status.st_ctim;
  return stamp;
}

bool WebConfigFile::unchanged(const std::vector<Stamp>& stamps) {
  for (const Stamp& stamp : stamps) {
    if (!(stamp_of(stamp.path) == stamp)) return false;
  }
  return true;
}

WebConfigFile::WebConfigFile(std::string path, Log& log) : path_(std::move(path)), log_(log) {
  Attempt attempt = load();
  if (!attempt.loaded) throw std::runtime_error("--web.config.file: " + attempt.error);
  for (const TlsWarning& warning : attempt.warnings)
    log_.write(LogLevel::warn, warning.message, {{"hint", warning.hint}});
  stamps_ = std::move(attempt.stamps);
  settled_ = attempt.settled;
  digest_ = std::move(attempt.digest);
  loaded_ = std::move(attempt.loaded);
}

// The stamps are taken before the files are read: the next check finds a change in between.
WebConfigFile::Attempt WebConfigFile::load() const {
  Attempt attempt;
  const bool at_start = loaded_ == nullptr;
  try {
    attempt.stamps.push_back(stamp_of(path_));
    const Wiped text{read_file(path_, path_, at_start)};
    auto loaded = std::make_shared<LoadedWebConfig>();
    loaded->config = parse_web_config(text.text, path_);
    Digest digest;
    digest.add(text.text);
    if (const std::optional<TlsSettings>& tls = loaded->config.tls) {
      const std::array<const PemSource*, 3> sources{&tls->certificate, &tls->private_key, &tls->client_ca};
      for (const PemSource* source : sources) {
        if (!source->path.empty()) attempt.stamps.push_back(stamp_of(source->path));
      }
      TlsMaterial material;
      const std::array<std::string*, 3> contents{&material.certificate, &material.private_key, &material.client_ca};
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const PemSource& source = *sources[i];
        const std::string name = path_ + ":" + std::to_string(source.line) + ": " + source.key + " " + source.path;
        *contents[i] = source.path.empty() ? source.text : read_file(source.path, name, at_start);
        digest.add(*contents[i]);
      }
      TlsContext made = make_tls_context(*tls, material, path_);
      loaded->tls = std::move(made.context);
      loaded->tls_policy = tls_policy_of(*tls, material.client_ca);
      attempt.warnings = std::move(made.warnings);
    }
    attempt.digest = digest.take();
    attempt.loaded = std::move(loaded);
  } catch (const std::exception& error) {
    attempt.error = error.what();
  }
  for (const Stamp& stamp : attempt.stamps) attempt.settled = attempt.settled && !recent(stamp.changed);
  return attempt;
}

std::shared_ptr<const LoadedWebConfig> WebConfigFile::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

void WebConfigFile::reload_if_changed() {
  if (!settled_ || !unchanged(stamps_)) accept(load());
}

void WebConfigFile::accept(Attempt attempt) {
  stamps_ = std::move(attempt.stamps);
  settled_ = attempt.settled;
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
    if (attempt.error == last_error_) return;
    last_error_ = attempt.error;
    const std::string hint = "correct it; `intel-gpu-exporter doctor --web.config.file=" + path_ + "` checks it";
    log_.write(LogLevel::error, "the web configuration is not valid; the earlier one stays in use",
               {{"error", attempt.error}, {"hint", hint}});
    return;
  }
  successful_ = true;
  const bool changed = attempt.digest != digest_;
  if (!changed && last_error_.empty()) return;  // touched, or replaced by a copy
  last_error_.clear();
  log_.write(LogLevel::info, changed ? "the web configuration was reloaded" : "the web configuration is valid again",
             {{"file", path_}});
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

}  // namespace igpu::exporter
