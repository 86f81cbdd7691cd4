// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "igpu/log.h"
#include "server/web_config/web_config_file.h"

namespace igpu::exporter {

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
