// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace igpu::test {

// The real program, running. Ended by force if a test forgets it.
class ExporterProcess {
 public:
  // Adds --web.listen-address=127.0.0.1:0 unless an address is given; environment: "NAME=value", beside the test's own.
  // Returns once it listens; throws std::runtime_error with its log if it exits or logs nothing for 20 seconds.
  // launcher: a program and its flags that becomes the exporter in the same process
  // (setpriv, env), ending with what it is to run.
  explicit ExporterProcess(std::vector<std::string> arguments, std::vector<std::string> environment = {},
                           std::vector<std::string> launcher = {});
  ~ExporterProcess();
  ExporterProcess(const ExporterProcess&) = delete;
  ExporterProcess& operator=(const ExporterProcess&) = delete;

  std::uint16_t port() const;                  // of the first TCP address
  std::vector<std::string> addresses() const;  // as logged
  std::string log() const;                     // standard error up to now
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Exit status, or 128 + signal; nothing if it still runs after that time.
  std::optional<int> wait(std::chrono::milliseconds at_most = std::chrono::seconds(20));
  int stop(int signal_number);  // signal and wait; -1 if it does not end

 private:
  std::string log_path_;
  pid_t pid_ = -1;
};

}  // namespace igpu::test
