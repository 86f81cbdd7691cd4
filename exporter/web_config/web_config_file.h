// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "igpu/log.h"
#include "web_config/config.h"
#include "web_config/tls_context.h"

namespace igpu::exporter {

// A configuration that was read in full, with the certificates and keys it names.
struct LoadedWebConfig {
  WebConfig config;
  std::shared_ptr<SSL_CTX> tls;  // null: plain HTTP
  std::uint64_t admission = 0;   // another one for other client certificates that are let in: type, CA, names
};

class WebConfigSource {
 public:
  virtual ~WebConfigSource() = default;
  // What holds for a request or a connection that begins now; never null. Any thread.
  virtual std::shared_ptr<const LoadedWebConfig> current() = 0;
};

// --web.config.file as it was when it was last good.
//
// A file that has become bad changes nothing: the last good state stays, one line of the log says why, and
// intel_gpu_exporter_web_config_last_reload_successful is 0. Whether there is TLS at all is fixed at start, as in the
// toolkit. So is what the file refuses: a state in which some key is weaker (weaker.h) is not taken, for half a file
// that is just being written looks the same. Connections that exist go on, unless other client certificates are let in
// than when they began.
class WebConfigFile {
 public:
  // Throws std::runtime_error with one clear line. log must outlive the object.
  WebConfigFile(std::string path, Log& log);

  // What was read last and is good. Any thread; never waits for a file.
  std::shared_ptr<const LoadedWebConfig> loaded() const;
  // Of the last look. Any thread.
  bool successful() const { return successful_; }

  // Looks at the configuration, the certificates and the keys (stat), and reads what has changed. Takes as long as the
  // file system does. One thread at a time.
  void look();

  // What it reads: the configuration and the files that it names now.
  std::vector<std::string> files() const;

 private:
  // What tells a changed file from an unchanged one.
  struct Stamp {
    std::string path;
    int error = 0;  // errno of stat
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    timespec changed{};
    bool operator==(const Stamp& other) const;
  };
  struct Attempt;
  static Stamp stamp_of(const std::string& path);
  static bool still(const std::vector<Stamp>& stamps);

  Attempt load() const;
  void accept(Attempt attempt);

  const std::string path_;
  Log& log_;
  std::vector<Stamp> stamps_;  // of the last attempt
  bool settled_ = true;        // false: a file was written while it was being read, or just before
  std::string last_error_;
  std::string digest_;  // of all that was read for loaded_

  mutable std::mutex mutex_;
  std::shared_ptr<const LoadedWebConfig> loaded_;
  std::atomic<bool> successful_ = true;
};

}  // namespace igpu::exporter
