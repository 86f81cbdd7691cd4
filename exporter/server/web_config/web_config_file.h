// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "igpu/log.h"
#include "platform/regular_file.h"
#include "server/web_config/config.h"

namespace igpu::exporter {

// A complete configuration with the certificates and keys that it names.
struct LoadedWebConfig {
  WebConfig config;
  std::shared_ptr<SSL_CTX> tls;  // null: plain HTTP
  std::uint64_t tls_policy = 0;  // changes with the rules for client certificates: type, CA, names
};

class WebConfigSource {
 public:
  virtual ~WebConfigSource() = default;
  // The configuration for a request or a connection that begins now; never null. Thread-safe.
  virtual std::shared_ptr<const LoadedWebConfig> current() = 0;
};

// The last valid --web.config.file.
//
// An invalid file changes nothing: the last valid configuration stays in use, one log line says why, and
// intel_gpu_exporter_web_config_last_reload_successful is 0. TLS is turned on or off at start only, as in the toolkit.
// Likewise a configuration with a weaker key (weaker.cpp) is rejected until a restart, as a half-written file looks the
// same. Existing connections continue, unless the rules for client certificates have changed.
class WebConfigFile {
 public:
  // Throws FlagFileError. log must outlive the object.
  WebConfigFile(std::string path, Log& log);

  // The last valid configuration. Thread-safe; never waits for a file.
  std::shared_ptr<const LoadedWebConfig> loaded() const;
  // Of the last check. Thread-safe.
  bool successful() const { return successful_; }

  // Checks the configuration, the certificates and the keys with stat(2), and reads them again if one has changed.
  // Waits for the file system. One thread at a time.
  void reload_if_changed();

  // The files that it reads: the configuration and those that it names now.
  std::vector<std::string> files() const;

 private:
  struct Attempt;

  Attempt load() const;
  void accept(Attempt attempt);

  const std::string path_;
  Log& log_;
  ReloadLog reload_log_;
  FileStamps stamps_;   // of the last attempt
  std::string digest_;  // of all content of loaded_

  mutable std::mutex mutex_;
  std::shared_ptr<const LoadedWebConfig> loaded_;
  std::atomic<bool> successful_ = true;
};

// Reloads --web.config.file when it changes.
//
// A thread of its own checks the files when a request comes, at most once a second; between requests it sleeps. No
// request waits for a file longer than reload_wait: a slow check continues in the background, and until it ends the
// previous configuration stays in use. A check that hangs is logged once.
class WebConfigFollower final : public WebConfigSource {
 public:
  struct Options {
    std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
    // How long a request waits for a check, so that a change applies to the next request. After a check that took
    // longer, requests do not wait until one was fast again.
    std::chrono::milliseconds reload_wait{100};
    std::chrono::milliseconds hang_timeout{5000};  // a check that takes longer is reported
    std::chrono::milliseconds stop_timeout{1000};  // for a check that runs when the program ends
  };

  // Reads the file. Throws FlagFileError. log must outlive the object.
  WebConfigFollower(std::string path, Log& log);
  WebConfigFollower(std::string path, Log& log, Options options);
  ~WebConfigFollower() override;

  // Starts the thread, which inherits the caller's privileges. Before that files are not checked again.
  void start();

  std::shared_ptr<const LoadedWebConfig> current() override;

  // The files that it reads: the configuration and those that it names now.
  std::vector<std::string> files() const;

  // Whether the latest state of the files is in use.
  bool successful() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  void request_check();

  const std::string path_;
  Log& log_;
  const std::shared_ptr<Shared> shared_;  // shared with the thread, which may be blocked when the program ends
  std::thread thread_;
};

}  // namespace igpu::exporter
