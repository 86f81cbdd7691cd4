// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "view/top/live_view.h"

using namespace igpu;
using namespace igpu::exporter::top;

namespace {

// A program that waits for its standard input to end, with a hostile argument.
class Waiting {
 public:
  explicit Waiting(uid_t user) {
    std::array<int, 2> input{}, started{};
    REQUIRE(::pipe2(input.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(started.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      (void)::dup2(input[0], STDIN_FILENO);
      if (user != ::getuid() && ::setuid(user) != 0) ::_exit(1);
      ::execl("/bin/sh", "sh", "-c", "read line", "a\033[31mb", nullptr);
      ::_exit(1);
    }
    ::close(input[0]);
    ::close(started[1]);
    char none = 0;
    CHECK(::read(started[0], &none, 1) == 0);  // closed by exec
    ::close(started[0]);
    input_ = input[1];
  }
  ~Waiting() {
    ::close(input_);
    (void)::waitpid(pid_, nullptr, 0);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  std::string command() const {
    HostFrame frame =
        frame_of(std::string_view("intel_gpu_exporter_devices 1\nintel_gpu_process_info{device=\"d\",pid=\"" +
                                  std::to_string(pid_) + "\",comm=\"sh\"} 1\n"));
    REQUIRE(frame.gpus.size() == 1);
    OwnCommands commands;
    commands.add_to(frame);
    return frame.commands.at(cpu_key(frame.gpus.front().processes->front()));
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
};

}  // namespace

TEST_SUITE_BEGIN("sources");

TEST_CASE("the command line of an own process is shown whole, without control characters") {
  CHECK(Waiting(::getuid()).command() == "sh -c read line a?[31mb");
}

TEST_CASE("that of another user's process is not, whatever root may read") {
  if (::getuid() != 0) return;
  CHECK(Waiting(65534).command().empty());
}

TEST_SUITE_END();
