// SPDX-License-Identifier: Apache-2.0
#include "server/service/systemd.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "support/machine_tree.h"

using namespace igpu::exporter;
using igpu::UniqueFd;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  operator Environment() const {
    return [this](const char* name) -> const char* {
      const auto it = values_.find(name);
      return it == values_.end() ? nullptr : it->second.c_str();
    };
  }

 private:
  std::map<std::string, std::string> values_;
};

std::string own_pid() { return std::to_string(::getpid()); }

// The end of the service manager.
class Manager {
 public:
  // "/path" or "@abstract"
  explicit Manager(const std::string& address) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    REQUIRE(address.size() < sizeof name.sun_path);
    std::copy(address.begin(), address.end(), name.sun_path);
    if (address.front() == '@') name.sun_path[0] = '\0';
    const std::size_t size = offsetof(sockaddr_un, sun_path) + address.size() + (address.front() == '@' ? 0 : 1);
    const void* const raw = &name;
    REQUIRE(::bind(socket_.get(), static_cast<const sockaddr*>(raw), static_cast<socklen_t>(size)) == 0);
  }
  // The next message; "" if none is there.
  std::string next() const {
    pollfd wanted{socket_.get(), POLLIN, 0};
    if (::poll(&wanted, 1, 0) != 1) return {};
    char text[512];
    const ssize_t size = ::recv(socket_.get(), text, sizeof text, 0);
    return size < 0 ? std::string() : std::string(text, static_cast<std::size_t>(size));
  }

 private:
  UniqueFd socket_;
};

int listening_socket(int family = AF_INET, int type = SOCK_STREAM, bool listens = true) {
  const int fd = ::socket(family, type, 0);
  REQUIRE(fd >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const void* const raw = &address;
  if (family == AF_INET) REQUIRE(::bind(fd, static_cast<const sockaddr*>(raw), sizeof address) == 0);
  if (listens) REQUIRE(::listen(fd, 5) == 0);
  return fd;
}

// A run of descriptors as a service manager passes them, from one number on.
class Passed {
 public:
  static constexpr int kFirst = 200;
  ~Passed() {
    for (int i = 0; i < count_; ++i) ::close(kFirst + i);  // those without an owner
  }
  void add(int fd) {
    REQUIRE(::dup2(fd, kFirst + count_) >= 0);
    ::close(fd);
    ++count_;
  }
  void taken() { count_ = 0; }

 private:
  int count_ = 0;
};

}  // namespace

TEST_SUITE_BEGIN("systemd");

TEST_CASE("without a service manager nothing is sent and nothing fails") {
  const Variables none{{}};
  const ServiceNotifier notifier{Environment(none)};
  CHECK_FALSE(notifier.connected());
  CHECK_FALSE(notifier.watchdog_interval());
  notifier.ready("here");
  notifier.stopping("gone");
  CHECK(inherited_sockets(none).empty());
}

TEST_CASE("the manager receives messages at a path and at an abstract name") {
  MachineTree tree;
  tree.make_directory("run");
  for (const std::string& address : {tree.path("run") + "/notify", "@igpu-notify-test-" + own_pid()}) {
    CAPTURE(address);
    const Manager manager(address);
    const Variables variables{{{"NOTIFY_SOCKET", address}}};
    const ServiceNotifier notifier{Environment(variables)};
    CHECK(notifier.connected());
    notifier.ready("serving on 127.0.0.1:1");
    CHECK(manager.next() == "READY=1\nSTATUS=serving on 127.0.0.1:1");
    notifier.alive();
    CHECK(manager.next() == "WATCHDOG=1");
    notifier.stopping("SIGTERM\nMAINPID=1");  // one line, whatever it is given
    CHECK(manager.next() == "STOPPING=1\nSTATUS=SIGTERM");
    CHECK(manager.next().empty());
  }
}

TEST_CASE("an unreachable manager is reported in one line") {
  for (const std::string& address : {std::string("relative"), std::string("vsock:2:1"), std::string("/no/such/socket"),
                                     "/" + std::string(200, 'x'), "@" + std::string(108, 'x')}) {
    CAPTURE(address);
    const Variables variables{{{"NOTIFY_SOCKET", address}}};
    CHECK_THROWS_WITH_AS(ServiceNotifier{Environment(variables)}, doctest::Contains("NOTIFY_SOCKET="),
                         std::runtime_error);
  }
}

TEST_CASE("a manager that is gone blocks nothing") {
  const std::string address = "@igpu-gone-test-" + own_pid();
  const Variables variables{{{"NOTIFY_SOCKET", address}}};
  std::optional<Manager> manager(address);
  const ServiceNotifier notifier{Environment(variables)};
  manager.reset();
  notifier.alive();
  notifier.stopping("late");
}

TEST_CASE("the watchdog is notified twice per interval, if it watches this process") {
  const std::string address = "@igpu-watchdog-test-" + own_pid();
  const Manager manager(address);
  const auto interval = [&](std::map<std::string, std::string> more) {
    more["NOTIFY_SOCKET"] = address;
    const Variables variables(std::move(more));
    return ServiceNotifier(Environment(variables)).watchdog_interval();
  };
  CHECK(interval({{"WATCHDOG_USEC", "30000000"}}) == 15s);
  CHECK(interval({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", own_pid()}}) == 15s);
  CHECK(interval({{"WATCHDOG_USEC", "10"}}) == 1ms);
  CHECK_FALSE(interval({{"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", "1"}}));
  CHECK_FALSE(interval({{"WATCHDOG_USEC", "0"}}));
  CHECK_FALSE(interval({{"WATCHDOG_USEC", "soon"}}));
  CHECK_FALSE(interval({}));
}

TEST_CASE("inherited sockets close on exec") {
  Passed passed;
  passed.add(listening_socket());
  passed.add(listening_socket());
  const Variables variables{{{"LISTEN_PID", own_pid()}, {"LISTEN_FDS", "2"}}};
  const std::vector<UniqueSocket> sockets = inherited_sockets(variables, Passed::kFirst);
  passed.taken();
  REQUIRE(sockets.size() == 2);
  for (const UniqueSocket& socket : sockets) CHECK((::fcntl(socket.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("sockets of another process are ignored") {
  const Variables variables{{{"LISTEN_PID", "1"}, {"LISTEN_FDS", "1"}}};
  CHECK(inherited_sockets(variables, Passed::kFirst).empty());
}

TEST_CASE("a descriptor that is not a listening stream socket is rejected with a hint") {
  const auto refusal = [](int fd) {
    Passed passed;
    if (fd >= 0) passed.add(fd);
    const Variables variables{{{"LISTEN_PID", own_pid()}, {"LISTEN_FDS", "1"}}};
    try {
      const auto sockets = inherited_sockets(variables, Passed::kFirst);
      passed.taken();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK(refusal(-1).find("is not open") != std::string::npos);
  CHECK(refusal(::open("/dev/null", O_RDONLY)).find("is not a socket") != std::string::npos);
  CHECK(refusal(listening_socket(AF_INET, SOCK_DGRAM, false)).find("is not a stream socket") != std::string::npos);
  CHECK(refusal(listening_socket(AF_INET, SOCK_STREAM, false)).find("does not listen") != std::string::npos);
  CHECK(refusal(::socket(AF_NETLINK, SOCK_RAW, 0)).find("neither an IP nor a UNIX socket") != std::string::npos);
  CHECK(refusal(-1).find("Accept=no") != std::string::npos);

  for (const char* count : {"-1", "many", "100000"}) {
    const Variables variables{{{"LISTEN_PID", own_pid()}, {"LISTEN_FDS", count}}};
    CHECK_THROWS_WITH_AS(inherited_sockets(variables), doctest::Contains("LISTEN_FDS"), std::runtime_error);
  }
}

TEST_CASE("the variables are removed") {
  ::setenv("LISTEN_FDS", "1", 1);
  ::setenv("NOTIFY_SOCKET", "@x", 1);
  clear_service_environment();
  CHECK(std::getenv("LISTEN_FDS") == nullptr);
  CHECK(std::getenv("NOTIFY_SOCKET") == nullptr);
}

TEST_SUITE_END();
