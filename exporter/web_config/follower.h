// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "igpu/log.h"
#include "self/self_metrics.h"
#include "web_config/web_config_file.h"

namespace igpu::exporter {

// --web.config.file, followed while it changes.
//
// At most once a second, when somebody asks, a thread of its own looks at the files; between requests it sleeps. Nobody
// who asks ever waits for a file: a look that takes longer than a moment goes on by itself, and what was read before
// holds until it is done. That it does not end is logged once.
class WebConfigFollower final : public WebConfigSource, public SelfMetrics {
 public:
  struct Options {
    std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
    // For which one who asks waits, so that a change holds for the next request. After a look that took longer nobody
    // waits until there was one that did not.
    std::chrono::milliseconds patience{100};
    std::chrono::milliseconds hangs_after{5000};
    std::chrono::milliseconds farewell{1000};  // for a look under way at the end
  };

  // Reads the file. Throws std::runtime_error with one clear line. log must outlive the object.
  WebConfigFollower(std::string path, Log& log);
  WebConfigFollower(std::string path, Log& log, Options options);
  ~WebConfigFollower() override;
  WebConfigFollower(const WebConfigFollower&) = delete;
  WebConfigFollower& operator=(const WebConfigFollower&) = delete;

  // Before that the files are not looked at again. The thread has the rights of the one that calls.
  void start();

  std::shared_ptr<const LoadedWebConfig> current() override;

  // What it reads: the configuration and the files that it names now.
  std::vector<std::string> files() const;

  static std::span<const MetricDescriptor* const> metrics();
  void add_to(SampleList& out) const override;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  void ask_for_a_look();

  const std::string path_;
  Log& log_;
  const std::shared_ptr<Shared> shared_;  // the thread's, too, which may be stuck when the program ends
  std::thread thread_;
};

}  // namespace igpu::exporter
