// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/web_config_file.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace igpu::exporter {
namespace {

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

}  // namespace igpu::exporter
