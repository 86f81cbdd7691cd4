// SPDX-License-Identifier: Apache-2.0
// sandbox_probe LAYERS ACTION FOLDER
// Puts layers of the program's own sandbox on itself, tries one thing that a compromised exporter might, and prints what
// the kernel said: "done" or the name of the error. LAYERS: none, seccomp, landlock, or all.
// FOLDER may be read; FOLDER/file exists. Not shipped.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "sandbox/landlock.h"
#include "sandbox/privileges.h"
#include "sandbox/sandbox.h"
#include "sandbox/seccomp_filter.h"

namespace {

using igpu::exporter::FileAccess;
using igpu::exporter::LayerOutcome;

// Made before the sandbox, as the program's own are.
struct Before {
  std::string folder;
  int listening = -1;  // 127.0.0.1
  sockaddr_in address{};
  int stream = -1;    // not connected
  int datagram = -1;  // not connected
  int pair = -1;      // connected
};

bool succeeded(long result) { return result != -1; }

const sockaddr* generic(const sockaddr_in& address) {
  const void* const raw = &address;
  return static_cast<const sockaddr*>(raw);
}

Before prepare(const std::string& folder) {
  Before before;
  before.folder = folder;
  before.listening = ::socket(AF_INET, SOCK_STREAM, 0);
  before.address.sin_family = AF_INET;
  before.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(before.listening, generic(before.address), sizeof before.address);
  ::listen(before.listening, 5);
  socklen_t size = sizeof before.address;
  void* const raw = &before.address;
  ::getsockname(before.listening, static_cast<sockaddr*>(raw), &size);
  before.stream = ::socket(AF_INET, SOCK_STREAM, 0);
  before.datagram = ::socket(AF_INET, SOCK_DGRAM, 0);
  std::array<int, 2> pair{-1, -1};
  ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data());
  before.pair = pair[0];
  return before;
}

long run_program_in_child() {
  pid_t child = -1;
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  const int error = ::posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, nullptr);
  errno = error;
  if (error != 0) return -1;
  return ::waitpid(child, nullptr, 0);
}

long become_program() {
  char name[] = "echo", word[] = "done";
  char* arguments[] = {name, word, nullptr};
  return ::execv("/bin/echo", arguments);
}

long count(pid_t pid, int cpu) {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.exclude_kernel = 1;
  return ::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, 0UL);
}

void* map(int protection) { return ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

using Action = std::function<bool(const Before&)>;

std::map<std::string_view, Action> actions() {
  const auto file = [](const Before& b) { return b.folder + "/file"; };
  const auto other = [](const Before& b) { return b.folder + "/other"; };
  return {
      // What scrapes and answers need.
      {"read", [=](const Before& b) {
         const int fd = ::open(file(b).c_str(), O_RDONLY | O_CLOEXEC);
         char byte = 0;
         return fd >= 0 && ::read(fd, &byte, 1) == 1;
       }},
      {"list", [](const Before& b) { return succeeded(::open(b.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }},
      {"thread", [](const Before&) {
         bool ran = false;
         std::thread([&] { ran = true; }).join();
         return ran;
       }},
      {"wait", [](const Before&) { return ::usleep(1) == 0; }},
      {"answer", [](const Before& b) { return ::send(b.pair, "x", 1, MSG_NOSIGNAL) == 1; }},
      {"pair", [](const Before&) {
         std::array<int, 2> ends{};
         return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0;
       }},
      {"memory", [](const Before&) { return map(PROT_READ | PROT_WRITE) != MAP_FAILED; }},
      {"ask_i915", [](const Before& b) { return succeeded(::ioctl(b.pair, 0xc0106479, nullptr)) || errno == ENOTTY; }},
      {"ask_xe", [](const Before& b) { return succeeded(::ioctl(b.pair, 0xc0286440, nullptr)) || errno == ENOTTY; }},
      {"self", [](const Before&) { return succeeded(::open("/proc/self/stat", O_RDONLY)); }},

      // Programs and processes.
      {"exec", [](const Before&) { return succeeded(become_program()); }},
      {"execveat", [](const Before&) {
         char word[] = "done";
         char* arguments[] = {word, word, nullptr};
         const int fd = ::open("/bin/echo", O_RDONLY | O_CLOEXEC);
         return succeeded(::fexecve(fd, arguments, environ));
       }},
      {"spawn", [](const Before&) { return succeeded(run_program_in_child()); }},
      {"fork", [](const Before&) {
         const pid_t child = ::fork();
         if (child == 0) ::_exit(0);
         return child > 0 && ::waitpid(child, nullptr, 0) == child;
       }},
      {"clone3", [](const Before&) { return succeeded(::syscall(SYS_clone3, nullptr, 0UL)); }},

      // Files.
      {"write", [=](const Before& b) { return succeeded(::open(file(b).c_str(), O_WRONLY)); }},
      {"read_write", [=](const Before& b) { return succeeded(::open(file(b).c_str(), O_RDWR)); }},
      {"append", [=](const Before& b) { return succeeded(::open(file(b).c_str(), O_WRONLY | O_APPEND)); }},
      {"truncate_open", [=](const Before& b) { return succeeded(::open(file(b).c_str(), O_RDONLY | O_TRUNC)); }},
      {"create", [=](const Before& b) { return succeeded(::open(other(b).c_str(), O_RDONLY | O_CREAT, 0600)); }},
      {"creat", [=](const Before& b) { return succeeded(::creat(other(b).c_str(), 0600)); }},
      {"nameless", [](const Before& b) { return succeeded(::open(b.folder.c_str(), O_TMPFILE | O_RDWR, 0600)); }},
      {"truncate", [=](const Before& b) { return succeeded(::truncate(file(b).c_str(), 0)); }},
      {"unlink", [=](const Before& b) { return succeeded(::unlink(file(b).c_str())); }},
      {"rename", [=](const Before& b) { return succeeded(::rename(file(b).c_str(), other(b).c_str())); }},
      {"link", [=](const Before& b) { return succeeded(::link(file(b).c_str(), other(b).c_str())); }},
      {"symlink", [=](const Before& b) { return succeeded(::symlink("file", other(b).c_str())); }},
      {"mkdir", [=](const Before& b) { return succeeded(::mkdir(other(b).c_str(), 0700)); }},
      {"chmod", [=](const Before& b) { return succeeded(::chmod(file(b).c_str(), 0777)); }},
      {"chown", [=](const Before& b) { return succeeded(::chown(file(b).c_str(), ::getuid(), ::getgid())); }},
      {"memfd", [](const Before&) { return succeeded(::syscall(SYS_memfd_create, "x", 0U)); }},
      {"read_outside", [](const Before&) { return succeeded(::open("/etc/hostname", O_RDONLY)); }},

      // Connections.
      {"socket", [](const Before&) { return succeeded(::socket(AF_INET, SOCK_STREAM, 0)); }},
      {"socket6", [](const Before&) { return succeeded(::socket(AF_INET6, SOCK_DGRAM, 0)); }},
      {"socket_unix", [](const Before&) { return succeeded(::socket(AF_UNIX, SOCK_STREAM, 0)); }},
      {"socket_netlink", [](const Before&) { return succeeded(::socket(AF_NETLINK, SOCK_RAW, 0)); }},
      {"connect", [](const Before& b) { return succeeded(::connect(b.stream, generic(b.address), sizeof b.address)); }},
      {"bind", [](const Before& b) {
         sockaddr_in any = b.address;
         any.sin_port = 0;
         return succeeded(::bind(b.stream, generic(any), sizeof any));
       }},
      {"sendto", [](const Before& b) {
         return succeeded(::sendto(b.datagram, "x", 1, 0, generic(b.address), sizeof b.address));
       }},

      // Other processes and the kernel. What only a privileged process could do is asked for with arguments that do
      // nothing.
      {"ptrace", [](const Before&) { return succeeded(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }},
      {"read_memory", [](const Before&) {
         char from = 1, to = 0;
         const iovec local{&to, 1}, remote{&from, 1};
         return succeeded(::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0));
       }},
      {"kill", [](const Before&) { return succeeded(::kill(::getppid(), 0)); }},
      {"count_process", [](const Before&) { return succeeded(count(0, -1)); }},
      {"bpf", [](const Before&) { return succeeded(::syscall(SYS_bpf, 0, nullptr, 0U)); }},
      {"mount", [](const Before&) { return succeeded(::mount(nullptr, "/nowhere", nullptr, MS_BIND, nullptr)); }},
      {"unshare", [](const Before&) { return succeeded(::unshare(CLONE_FS)); }},
      {"kexec", [](const Before&) { return succeeded(::syscall(SYS_kexec_load, 0UL, ~0UL, nullptr, 0UL)); }},
      {"module", [](const Before&) { return succeeded(::syscall(SYS_init_module, nullptr, 0UL, "")); }},
      {"keyctl", [](const Before&) { return succeeded(::syscall(SYS_keyctl, 0, -2, 0, 0, 0)); }},
      {"io_uring", [](const Before&) { return succeeded(::syscall(SYS_io_uring_setup, 0U, nullptr)); }},
      {"userfaultfd", [](const Before&) { return succeeded(::syscall(SYS_userfaultfd, 1)); }},
      {"setuid", [](const Before&) { return succeeded(::setuid(::getuid())); }},
      {"limit", [](const Before&) {
         rlimit files{};
         ::getrlimit(RLIMIT_NOFILE, &files);
         return succeeded(::setrlimit(RLIMIT_NOFILE, &files));
       }},
      {"dumpable", [](const Before&) { return succeeded(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
      // DRM_IOCTL_I915_GEM_EXECBUFFER2: work for a GPU. This is no GPU, which is what one is told who may ask.
      {"gpu_work", [](const Before& b) { return succeeded(::ioctl(b.pair, 0x40406469, nullptr)); }},
      {"terminal", [](const Before& b) { return succeeded(::ioctl(b.pair, TIOCSTI, "x")); }},
      {"code", [](const Before&) { return map(PROT_READ | PROT_EXEC) != MAP_FAILED; }},
      {"memory_to_code", [](const Before&) {
         void* const page = map(PROT_READ | PROT_WRITE);
         return page != MAP_FAILED && ::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
       }},
  };
}

LayerOutcome put_on(std::string_view layers, const std::string& folder) {
  const FileAccess access{{folder, "/proc"}, {}, {}};
  if (layers == "none") return LayerOutcome::holds();
  if (layers == "all") {
    igpu::exporter::Sandbox sandbox({true, {}, access, false});
    sandbox.guard_memory();
    sandbox.drop_rights();
    sandbox.confine_clients();
    sandbox.close();
    return sandbox.outcome(igpu::exporter::Layer::seccomp);
  }
  if (const LayerOutcome outcome = igpu::exporter::forbid_new_privileges(); !outcome.on) return outcome;
  return layers == "seccomp" ? igpu::exporter::filter_system_calls() : igpu::exporter::confine_files(access);
}

// Not exit(): what a sanitizer does at the end is not what is tried here.
[[noreturn]] void end(const std::string& text, int status) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  ::_exit(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) end("usage: sandbox_probe LAYERS ACTION FOLDER", 2);
  const auto known = actions();
  if (std::string_view(argv[2]) == "--list") {
    std::string names;
    for (const auto& [name, action] : known) names += std::string(name) + "\n";
    end(names, 0);
  }
  const auto action = known.find(argv[2]);
  if (action == known.end()) end("unknown action", 2);
  const Before before = prepare(argv[3]);
  if (const LayerOutcome outcome = put_on(argv[1], argv[3]); !outcome.on) end("not on: " + outcome.detail, 3);
  errno = 0;
  if (action->second(before)) end("done", 0);
  const char* const name = ::strerrorname_np(errno);
  end(name == nullptr ? "?" : name, 0);
}
