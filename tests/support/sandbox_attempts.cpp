// SPDX-License-Identifier: Apache-2.0
#include "support/sandbox_attempts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "machine/perf_events.h"

namespace igpu::test {
namespace {

using S = Surroundings;

bool done(long result) { return result != -1; }

// What opens must be closed again: an attempt is made in many threads of one process.
bool opens(long descriptor) {
  if (descriptor == -1) return false;
  ::close(static_cast<int>(descriptor));
  return true;
}

bool opens(const char* path, int flags) {
  return opens(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600));
}

// With descriptors that are not open.
long bpf(long command) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  constexpr std::uint32_t kNone = 0x7fffffff;
  switch (command) {
    case BPF_LINK_CREATE: attributes.link_create.prog_fd = kNone; break;
    case BPF_RAW_TRACEPOINT_OPEN: attributes.raw_tracepoint.prog_fd = kNone; break;
    case BPF_LINK_UPDATE: attributes.link_update.link_fd = kNone; break;
    case BPF_PROG_TEST_RUN: attributes.test.prog_fd = kNone; break;
    case BPF_ITER_CREATE: attributes.iter_create.link_fd = kNone; break;
    case BPF_PROG_GET_FD_BY_ID:
    case BPF_MAP_GET_FD_BY_ID: attributes.start_id = 1; break;
    default: attributes.map_fd = kNone;
  }
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

// The kernel took the command, as it found the descriptor missing.
bool bpf_knows(long command) { return bpf(command) == -1 && errno == EBADF; }

bool makes_bpf_map(unsigned long high_bits = 0) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 8;
  attributes.max_entries = 1;
  return opens(::syscall(SYS_bpf, BPF_MAP_CREATE | high_bits, &attributes, sizeof attributes));
}

bool loads_bpf_program() {
  const bpf_insn instructions[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attributes.insn_cnt = 2;
  attributes.insns = reinterpret_cast<std::uint64_t>(instructions);
  attributes.license = reinterpret_cast<std::uint64_t>("GPL");
  return opens(::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes));
}

bool creates_in(int folder, const char* name) {
  return opens(::syscall(SYS_openat, folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

bool reads(const char* path) {
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
  if (fd < 0) return false;
  char byte = 0;
  const bool read = ::read(fd, &byte, 1) == 1;
  const int error = errno;
  ::close(fd);
  errno = error;
  return read;
}

bool locks(const char* path, int command) {
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
  if (fd < 0) return false;
  struct ::flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  const bool done_so = done(::syscall(SYS_fcntl, fd, command, &lock));
  const int error = errno;
  ::close(fd);
  errno = error;
  return done_so;
}

const sockaddr* generic(const sockaddr_in& address) {
  const void* const raw = &address;
  return static_cast<const sockaddr*>(raw);
}

long make_child(unsigned long flags) {
  const long child = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0UL);
  if (child == 0) ::syscall(SYS_exit, 0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child;
}

perf_event_attr event_attributes() {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  return attributes;
}

// With the stack of the running task in every sample.
perf_event_attr sampling() {
  perf_event_attr attributes = event_attributes();
  attributes.sample_period = 100'000;
  attributes.sample_type = PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER;
  attributes.sample_regs_user = 0xff;
  attributes.sample_stack_user = 4096;
  return attributes;
}

long count(perf_event_attr attributes, pid_t pid, int cpu, unsigned long flags = PERF_FLAG_FD_CLOEXEC) {
  return ::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, flags);
}

// Adds 1 to 16 bits of this file in every process that maps it, were it a program with a counter
// there.
perf_event_attr writing_probe(const S& s) {
  perf_event_attr attributes = event_attributes();
  attributes.type = s.uprobes;
  attributes.config = 2ULL << 32;  // offset of the counter
  attributes.config1 = reinterpret_cast<std::uint64_t>(s.file);
  return attributes;
}

// Of the process that opens perf events; whoever takes over a thread would find it likewise.
int socket_of_event_opener() {
  for (int fd = 3; fd < 256; ++fd) {
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) return fd;
  }
  errno = ENOTCONN;
  return -1;
}

// Of each socket on which another process of the exporter passes descriptors: that of the event opener. True if one
// attempt succeeded; errno of the first that did not fail with EPERM.
template <class Try>
bool with_receivers(const Try& attempt) {
  int error = 0;
  for (int fd = 3; fd < 256; ++fd) {
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) continue;
    if (attempt(fd)) return true;
    if (error == 0 || error == EPERM) error = errno;
  }
  errno = error == 0 ? ENOTCONN : error;
  return false;
}

bool opens_by_request(PerfRequest request) {
  const int socket = socket_of_event_opener();
  if (socket < 0) return false;
  request.serial = 0xffffff;
  if (::send(socket, &request, sizeof request, MSG_NOSIGNAL) != sizeof request) return false;
  PerfAnswer answer;
  if (::recv(socket, &answer, sizeof answer, 0) != sizeof answer || answer.serial != request.serial) return false;
  errno = answer.error;
  return answer.error == 0;
}

int some_cpu() {
  unsigned cpu = 0;
  ::syscall(SYS_getcpu, &cpu, nullptr, nullptr);
  return static_cast<int>(cpu);
}

bool maps(std::size_t size, int protection, int flags, int fd) {
  void* const address = ::mmap(nullptr, size, protection, flags, fd, 0);
  if (address == MAP_FAILED) return false;
  ::munmap(address, size);
  return true;
}

bool sends(int socket, const void* name, socklen_t size, int flags) {
  char byte = 'x';
  iovec piece{&byte, 1};
  msghdr message{};
  message.msg_name = const_cast<void*>(name);
  message.msg_namelen = size;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  return done(::sendmsg(socket, &message, flags));
}

// A datagram of a pair goes to whom its sender names.
bool sends_from_pair(const S& s, bool with_sendto) {
  std::array<int, 2> pair{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
  const void* const name = &s.receiver_address;
  const socklen_t size = sizeof s.receiver_address;
  const bool sent = with_sendto
                        ? done(::sendto(pair[0], "x", 1, MSG_DONTWAIT, static_cast<const sockaddr*>(name), size))
                        : sends(pair[0], name, size, MSG_DONTWAIT);
  const int error = errno;
  ::close(pair[0]);
  ::close(pair[1]);
  errno = error;
  return sent;
}

bool pairs(int family, int type) {
  std::array<int, 2> pair{-1, -1};
  if (::socketpair(family, type | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
  ::close(pair[0]);
  ::close(pair[1]);
  return true;
}

bool sets(int socket, int level, int option, int value = 1) {
  return ::setsockopt(socket, level, option, &value, sizeof value) == 0;
}

bool asks(const S& s, unsigned long request) {
  // The pair is no GPU, which is what one is answered whom the filter lets ask.
  return done(::syscall(SYS_ioctl, s.pair, request, nullptr)) || errno == ENOTTY;
}

bool perf_control(const S& s, unsigned long request) { return done(::syscall(SYS_ioctl, s.event, request, 0UL)); }

// The new thread shares its parent's thread-local storage, where ThreadSanitizer keeps the state of a running thread:
// an instrumented function would corrupt it.
__attribute__((no_sanitize("thread", "address", "undefined"))) int end_at_once(void*) {
  ::syscall(SYS_exit, 0);
  return 0;
}

// glibc's other name of clone(). ThreadSanitizer wraps the usual one in a function that hands the new thread a pointer
// to its own stack frame, and may return before the thread has used it.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

bool makes_thread(const S&) {
  constexpr std::size_t kStack = 65536;
  void* const stack = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return false;
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  // Its stack stays allocated: its end is not reported.
  return __clone(end_at_once, static_cast<char*>(stack) + kStack, kFlags, nullptr) > 0;
}

bool has_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  errno = ENODATA;
  return (data[0].effective | data[1].effective | data[0].permitted | data[1].permitted) != 0;
}

// What it takes up again is what it has: only a filter refuses that.
bool sets_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  return ::syscall(SYS_capget, &header, data.data()) == 0 && ::syscall(SYS_capset, &header, data.data()) == 0;
}

constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

constexpr Attempt kAttempts[] = {
    {"read", For::everybody, [](const S& s) { return reads(s.file); }},
    {"list", For::everybody, [](const S& s) { return opens(s.folder, O_RDONLY | O_DIRECTORY); }},
    {"thread", For::everybody, makes_thread},
    {"wait", For::everybody, [](const S&) {
       const timespec moment{0, 1000};
       return ::syscall(SYS_nanosleep, &moment, nullptr) == 0 || errno == EINTR;
     }},
    {"answer", For::everybody, [](const S& s) { return ::send(s.pair, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1; }},
    {"answer_in_pieces", For::everybody, [](const S& s) {
       char byte = 'x';
       const iovec pieces[]{{&byte, 1}, {&byte, 1}};
       return ::writev(s.pair, pieces, 2) == 2;
     }},
    {"keepalive", For::everybody, [](const S& s) { return sets(s.stream, SOL_SOCKET, SO_KEEPALIVE); }},
    {"no_delay", For::everybody, [](const S& s) { return sets(s.stream, IPPROTO_TCP, TCP_NODELAY); }},
    {"memory", For::everybody, [](const S&) { return maps(4096, PROT_READ | PROT_WRITE, kPrivate, -1); }},
    {"self", For::everybody, [](const S&) { return reads("/proc/self/stat"); }},
    {"self_thread", For::everybody, [](const S&) { return reads("/proc/thread-self/status"); }},
    {"stat_outside", For::everybody,
     [](const S& s) {
       struct stat facts {};
       return ::stat(s.outside, &facts) == 0;
     }},
    {"signal_self", For::everybody, [](const S&) { return done(::syscall(SYS_tgkill, ::getpid(), ::gettid(), 0)); }},

    {"ask_i915", For::collectors, [](const S& s) { return asks(s, 0xc0106479); }},
    {"ask_xe", For::collectors, [](const S& s) { return asks(s, 0xc0286440); }},
    {"ask_whether_wedged", For::collectors, [](const S& s) { return asks(s, 0x6458); }},

    // To take more away from itself. There is no filter at this address, which only who may have one is answered.
    {"filter", For::collectors, [](const S&) {
       return done(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr)) || errno == EFAULT;
     }},

    {"exec", For::death, [](const S&) {
       char name[] = "echo", word[] = "done";
       char* arguments[] = {name, word, nullptr};
       return done(::execv("/bin/echo", arguments));
     }},
    {"execveat", For::death, [](const S&) {
       char word[] = "done";
       char* arguments[] = {word, word, nullptr};
       const int fd = ::open("/bin/echo", O_RDONLY | O_CLOEXEC);
       return done(::syscall(SYS_execveat, fd, "", arguments, environ, AT_EMPTY_PATH));
     }},

    // Programs and processes.
    {"fork", For::nobody, [](const S&) { return done(make_child(0)); }},
    {"spawn", For::nobody, [](const S&) {
       pid_t child = -1;
       char name[] = "true";
       char* arguments[] = {name, nullptr};
       errno = ::posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, nullptr);
       return errno == 0 && ::waitpid(child, nullptr, 0) == child;
     }},
    {"thread_in_namespace", For::nobody_yet, [](const S&) { return done(make_child(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | CLONE_NEWNET)); }},
    {"unshare", For::nobody_yet, [](const S&) { return done(::unshare(CLONE_FS)); }},
    {"setns", For::nobody_yet, [](const S& s) { return done(::setns(s.pair, 0)); }},

    // Files.
    {"write", For::nobody, [](const S& s) { return opens(s.file, O_WRONLY); }},
    {"read_write", For::nobody, [](const S& s) { return opens(s.file, O_RDWR); }},
    {"append", For::nobody, [](const S& s) { return opens(s.file, O_WRONLY | O_APPEND); }},
    {"truncate_open", For::nobody, [](const S& s) { return opens(s.file, O_RDONLY | O_TRUNC); }},
    {"create", For::nobody, [](const S& s) { return opens(s.other, O_RDONLY | O_CREAT); }},
    {"creat", For::nobody, [](const S& s) { return opens(::creat(s.other, 0600)); }},
    {"nameless", For::nobody_yet, [](const S& s) { return opens(s.folder, O_TMPFILE | O_RDWR); }},
    {"truncate", For::nobody, [](const S& s) { return done(::truncate(s.file, 0)); }},
    {"unlink", For::nobody, [](const S& s) { return done(::unlink(s.file)); }},
    {"rmdir", For::nobody_yet, [](const S& s) { return done(::rmdir(s.other)); }},
    {"rename", For::nobody, [](const S& s) { return done(::rename(s.file, s.other)); }},
    {"link", For::nobody, [](const S& s) { return done(::link(s.file, s.other)); }},
    {"symlink", For::nobody, [](const S& s) { return done(::symlink("file", s.other)); }},
    {"mkdir", For::nobody, [](const S& s) { return done(::mkdir(s.other, 0700)); }},
    {"mkfifo", For::nobody, [](const S& s) { return done(::mknod(s.other, S_IFIFO | 0600, 0)); }},
    {"chmod", For::nobody, [](const S& s) { return done(::chmod(s.file, 0777)); }},
    {"chown", For::nobody, [](const S& s) { return done(::chown(s.file, ::getuid(), ::getgid())); }},
    {"touch", For::nobody, [](const S& s) { return done(::syscall(SYS_utimensat, AT_FDCWD, s.file, nullptr, 0)); }},
    {"memfd", For::nobody, [](const S&) { return opens(::syscall(SYS_memfd_create, "x", 1U)); }},
    {"chdir", For::nobody, [](const S& s) { return done(::chdir(s.folder)); }},
    {"chroot", For::nobody_yet, [](const S& s) { return done(::chroot(s.folder)); }},
    {"openat2", For::nobody_yet, [](const S& s) {
       const bool opened = opens(::syscall(SYS_openat2, AT_FDCWD, s.file, nullptr, 0UL));
       if (errno == ENOSYS) errno = EPERM;  // the answer to what the C library asks for first
       return opened;
     }},
    {"file_handle", For::nobody_yet, [](const S&) { return done(::syscall(SYS_open_by_handle_at, -1, nullptr, O_RDONLY)); }},
    {"watch", For::nobody, [](const S&) { return opens(::syscall(SYS_inotify_init1, O_CLOEXEC)); }},

    // Relative to a folder that is open. Each undoes what it did.
    {"create_in_opened", For::the_flight_writer, [](const S& s) {
       if (!creates_in(s.opened, "flight")) return false;
       return done(::syscall(SYS_unlinkat, s.opened, "flight", 0));
     }},
    {"rename_in_opened", For::the_flight_writer, [](const S& s) {
       if (!creates_in(s.opened, "flight")) return false;
       return done(::syscall(SYS_renameat2, s.opened, "flight", s.opened, "flight", 0U)) && done(::syscall(SYS_unlinkat, s.opened, "flight", 0));
     }},
    {"create_beside_opened", For::nobody, [](const S& s) {
       if (!creates_in(s.opened, "../beside")) return false;
       return done(::syscall(SYS_unlinkat, s.opened, "../beside", 0));
     }},
    {"move_out_of_opened", For::nobody, [](const S& s) {
       if (!done(::syscall(SYS_renameat2, s.opened, "file", s.opened, "../beside", 0U))) return false;
       return done(::syscall(SYS_renameat2, s.opened, "../beside", s.opened, "file", 0U));
     }},
    {"remove_above_opened", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_unlinkat, s.opened, "../outside", 0)); }},
    {"write_in_opened", For::nobody, [](const S& s) {
       return opens(::syscall(SYS_openat, s.opened, "file", O_WRONLY | O_CLOEXEC, 0));
     }},
    {"truncate_in_opened", For::nobody, [](const S& s) {
       return opens(::syscall(SYS_openat, s.opened, "file", O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600));
     }},

    // Files outside, and other processes' folders.
    {"read_outside", For::the_unconfined, [](const S& s) { return reads(s.outside); }},
    {"list_root", For::the_unconfined, [](const S&) { return opens("/", O_RDONLY | O_DIRECTORY); }},
    {"list_processes", For::the_unconfined, [](const S&) { return opens("/proc", O_RDONLY | O_DIRECTORY); }},
    {"read_maps", For::the_unconfined, [](const S& s) { return reads(s.maps); }},
    // A folder that another thread has open is no way around.
    {"read_maps_by_folder", For::the_unconfined, [](const S& s) {
       return opens(::syscall(SYS_openat, s.processes, s.maps + std::strlen("/proc/"), O_RDONLY | O_CLOEXEC, 0));
     }},
    {"read_init", For::the_unconfined, [](const S&) { return reads("/proc/1/status"); }},

    // Connections.
    {"socket", For::nobody, [](const S&) { return opens(::socket(AF_INET, SOCK_STREAM, 0)); }},
    {"socket6", For::nobody_yet, [](const S&) { return opens(::socket(AF_INET6, SOCK_DGRAM, 0)); }},
    {"socket_of_datagrams", For::nobody, [](const S&) { return opens(::socket(AF_INET, SOCK_DGRAM, 0)); }},
    // Their connections are none of TCP, or come about without connect().
    {"socket_mptcp", For::nobody_yet, [](const S&) { return opens(::socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)); }},
    {"socket6_mptcp", For::nobody_yet, [](const S&) { return opens(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP)); }},
    {"socket_sctp", For::nobody_yet, [](const S&) { return opens(::socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP)); }},
    {"socket_ping", For::nobody_yet, [](const S&) { return opens(::socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)); }},
    {"socket_unix_of_datagrams", For::nobody, [](const S&) { return opens(::socket(AF_UNIX, SOCK_DGRAM, 0)); }},
    {"socket_netlink_route", For::nobody, [](const S&) { return opens(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)); }},
    {"socket_unix", For::nobody, [](const S&) { return opens(::socket(AF_UNIX, SOCK_STREAM, 0)); }},
    {"socket_netlink", For::nobody, [](const S&) { return opens(::socket(AF_NETLINK, SOCK_RAW, 0)); }},
    {"socket_vsock", For::nobody_yet, [](const S&) { return opens(::socket(AF_VSOCK, SOCK_STREAM, 0)); }},
    {"socket_raw", For::nobody_yet, [](const S&) { return opens(::socket(AF_INET, SOCK_RAW, 1)); }},
    {"connect", For::nobody, [](const S& s) { return done(::connect(s.stream, generic(s.address), sizeof s.address)); }},
    {"connect_elsewhere", For::nobody, [](const S& s) {
       return done(::connect(s.stream, generic(s.elsewhere), sizeof s.elsewhere));
     }},
    {"connect_to_nobody", For::nobody, [](const S& s) {
       const sockaddr none{AF_UNSPEC, {}};
       return done(::connect(s.datagram, &none, sizeof none));
     }},
    {"bind", For::nobody, [](const S& s) {
       sockaddr_in any = s.address;
       any.sin_port = 0;
       return done(::bind(s.stream, generic(any), sizeof any));
     }},
    {"bind_datagrams", For::nobody, [](const S& s) {
       sockaddr_in any = s.address;
       any.sin_port = 0;
       return done(::bind(s.datagram, generic(any), sizeof any));
     }},
    // The pair does not listen, which is what one is answered whom the filter lets accept.
    {"accept", For::everybody, [](const S& s) { return done(::accept4(s.pair, nullptr, nullptr, SOCK_CLOEXEC)) || errno == EINVAL || errno == EOPNOTSUPP; }},
    {"listen", For::nobody, [](const S& s) { return done(::listen(s.listening, 1)); }},
    {"sendto", For::nobody, [](const S& s) { return done(::sendto(s.datagram, "x", 1, 0, generic(s.address), sizeof s.address)); }},
    {"sendmsg", For::nobody, [](const S& s) { return sends(s.pair, nullptr, 0, MSG_NOSIGNAL); }},
    {"sendmsg_to", For::nobody, [](const S& s) { return sends(s.datagram, &s.address, sizeof s.address, 0); }},
    {"fast_open_sendmmsg", For::nobody_yet, [](const S& s) {
       mmsghdr messages[1]{};
       return done(::sendmmsg(s.shut, messages, 1, MSG_FASTOPEN));
     }},
    {"sendmmsg", For::nobody, [](const S& s) {
       mmsghdr messages[1]{};
       return done(::sendmmsg(s.pair, messages, 1, MSG_NOSIGNAL));
     }},
    // A socket that listened and was shut down connects by sending: neither socket() nor connect().
    {"fast_open", For::nobody_yet, [](const S& s) { return sends(s.shut, &s.address, sizeof s.address, MSG_FASTOPEN); }},
    {"fast_open_sendto", For::nobody_yet, [](const S& s) {
       return done(::sendto(s.shut, "x", 1, MSG_FASTOPEN, generic(s.address), sizeof s.address));
     }},
    {"fast_open_send", For::nobody_yet, [](const S& s) { return done(::send(s.shut, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL)); }},
    {"send_with_flags", For::nobody, [](const S& s) { return done(::send(s.pair, "x", 1, MSG_CONFIRM | MSG_NOSIGNAL)); }},
    {"fast_open_later", For::nobody, [](const S& s) { return sets(s.stream, IPPROTO_TCP, TCP_FASTOPEN_CONNECT); }},
    {"socket_filter", For::nobody_yet, [](const S& s) { return sets(s.stream, SOL_SOCKET, SO_ATTACH_FILTER); }},
    {"socket_device", For::nobody_yet, [](const S& s) { return sets(s.stream, SOL_SOCKET, SO_BINDTODEVICE, 0); }},
    {"socket_debug", For::nobody_yet, [](const S& s) { return sets(s.stream, SOL_SOCKET, SO_DEBUG); }},
    {"repair", For::nobody_yet, [](const S& s) { return sets(s.stream, IPPROTO_TCP, TCP_REPAIR); }},
    {"transport", For::nobody_yet, [](const S& s) { return ::setsockopt(s.stream, IPPROTO_TCP, TCP_ULP, "tls", 3) == 0; }},
    {"multicast", For::nobody_yet, [](const S& s) { return sets(s.datagram, IPPROTO_IP, IP_ADD_MEMBERSHIP); }},
    {"reuse_address", For::nobody, [](const S& s) { return sets(s.stream, SOL_SOCKET, SO_REUSEADDR); }},
    {"pair_of_streams", For::nobody, [](const S&) { return pairs(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK); }},
    {"pair_of_datagrams", For::nobody, [](const S&) { return pairs(AF_UNIX, SOCK_DGRAM); }},
    {"pair_of_packets", For::nobody, [](const S&) { return pairs(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK); }},
    {"pair_to_others", For::nobody, [](const S& s) { return sends_from_pair(s, false); }},
    {"pair_sendto_others", For::nobody, [](const S& s) { return sends_from_pair(s, true); }},
    {"take_descriptors", For::nobody_yet, [](const S& s) {
       msghdr message{};
       return done(::recvmsg(s.pair, &message, MSG_DONTWAIT));
     }},
    {"take_many", For::nobody_yet, [](const S& s) {
       mmsghdr messages[1]{};
       return done(::recvmmsg(s.pair, messages, 1, MSG_DONTWAIT, nullptr));
     }},
    {"copy_out", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_sendfile, s.pair, s.listening, nullptr, 1UL)); }},
    {"splice", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_splice, s.pair, nullptr, s.pair, nullptr, 1UL, 0U)); }},
    {"lock_holder", For::everybody, [](const S& s) { return locks(s.file, F_GETLK); }},
    {"take_lock", For::nobody, [](const S& s) { return locks(s.file, F_SETLK); }},
    {"take_lock_of_description", For::nobody, [](const S& s) { return locks(s.file, F_OFD_SETLK); }},
    {"own_signals", For::nobody, [](const S& s) { return done(::syscall(SYS_fcntl, s.pair, F_SETOWN, ::getpid())); }},
    {"signals_when_ready", For::nobody, [](const S& s) { return done(::syscall(SYS_fcntl, s.pair, F_SETFL, O_ASYNC | O_NONBLOCK)); }},
    // The kernel sends these signals, with the rights of whoever asked for them: kill() is not needed.
    {"others_signals", For::nobody, [](const S& s) {
       const f_owner_ex owner{F_OWNER_PID, ::getppid()};
       return done(::syscall(SYS_fcntl, s.pair, F_SETOWN_EX, &owner));
     }},
    {"other_signal", For::nobody, [](const S& s) { return done(::syscall(SYS_fcntl, s.pair, F_SETSIG, SIGKILL)); }},
    {"signals_of_folder", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_fcntl, s.opened, F_NOTIFY, DN_CREATE)); }},
    {"signals_of_lease", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_fcntl, s.opened, F_SETLEASE, F_RDLCK)); }},
    {"signals_by_ioctl", For::nobody, [](const S& s) {
       int on = 1;
       return done(::syscall(SYS_ioctl, s.pair, FIOASYNC, &on));
     }},
    {"others_signals_by_ioctl", For::nobody, [](const S& s) {
       const int owner = ::getppid();
       return done(::syscall(SYS_ioctl, s.pair, FIOSETOWN, &owner));
     }},

    // Other processes and the kernel. What needs privileges is tried with arguments that do
    // nothing.
    {"ptrace", For::nobody, [](const S&) { return done(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }},
    {"read_memory", For::nobody, [](const S&) {
       char from = 1, to = 0;
       const iovec local{&to, 1}, remote{&from, 1};
       return done(::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0));
     }},
    {"write_memory", For::nobody, [](const S&) {
       char from = 1, to = 0;
       const iovec local{&from, 1}, remote{&to, 1};
       return done(::process_vm_writev(::getpid(), &local, 1, &remote, 1, 0));
     }},
    {"compare", For::nobody_yet, [](const S&) { return done(::syscall(SYS_kcmp, ::getpid(), ::getpid(), 0, 0UL, 0UL)); }},
    {"kill", For::nobody, [](const S&) { return done(::kill(::getppid(), 0)); }},
    {"kill_group", For::nobody, [](const S&) { return done(::kill(0, 0)); }},
    {"kill_thread", For::nobody, [](const S&) { return done(::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0)); }},
    {"pidfd", For::nobody_yet, [](const S&) { return opens(::syscall(SYS_pidfd_open, ::getppid(), 0U)); }},
    {"bpf_map", For::nobody_yet, [](const S&) { return makes_bpf_map(); }},
    {"bpf_program", For::nobody_yet, [](const S&) { return loads_bpf_program(); }},
    {"bpf_attach", For::nobody_yet, [](const S&) { return bpf_knows(BPF_LINK_CREATE); }},
    {"bpf_attach_raw", For::nobody_yet, [](const S&) { return bpf_knows(BPF_RAW_TRACEPOINT_OPEN); }},
    {"bpf_read_map", For::nobody_yet, [](const S&) { return bpf_knows(BPF_MAP_LOOKUP_ELEM); }},
    {"bpf_write_map", For::nobody_yet, [](const S&) { return bpf_knows(BPF_MAP_UPDATE_ELEM); }},
    {"bpf_change_link", For::nobody_yet, [](const S&) { return bpf_knows(BPF_LINK_UPDATE); }},
    {"bpf_run", For::nobody_yet, [](const S&) { return bpf_knows(BPF_PROG_TEST_RUN); }},
    {"bpf_other_program", For::nobody_yet, [](const S&) { return opens(bpf(BPF_PROG_GET_FD_BY_ID)); }},
    {"bpf_other_map", For::nobody_yet, [](const S&) { return opens(bpf(BPF_MAP_GET_FD_BY_ID)); }},
    {"bpf_high_bits", For::nobody_yet, [](const S&) { return makes_bpf_map(1UL << 32); }},
    {"bpf_iterate", For::collectors, [](const S&) { return bpf_knows(BPF_ITER_CREATE); }},
    {"mount", For::nobody_yet, [](const S&) { return done(::mount(nullptr, "/nowhere", nullptr, MS_BIND, nullptr)); }},
    {"kexec", For::nobody_yet, [](const S&) { return done(::syscall(SYS_kexec_load, 0UL, ~0UL, nullptr, 0UL)); }},
    {"module", For::nobody_yet, [](const S&) { return done(::syscall(SYS_init_module, nullptr, 0UL, "")); }},
    {"keyctl", For::nobody_yet, [](const S&) { return done(::syscall(SYS_keyctl, 0, -2, 0, 0, 0)); }},
    {"io_uring", For::nobody_yet, [](const S&) { return opens(::syscall(SYS_io_uring_setup, 0U, nullptr)); }},
    {"userfaultfd", For::nobody_yet, [](const S&) { return opens(::syscall(SYS_userfaultfd, O_CLOEXEC | 1)); }},
    {"shared_memory", For::nobody_yet, [](const S&) { return done(::syscall(SYS_shmget, 0, 4096UL, 0)); }},
    {"message_queue", For::nobody_yet, [](const S&) { return done(::syscall(SYS_mq_open, "x", O_RDONLY, 0, nullptr)); }},
    {"setuid", For::nobody, [](const S&) { return done(::syscall(SYS_setuid, ::getuid())); }},
    {"setreuid", For::nobody, [](const S&) { return done(::syscall(SYS_setreuid, -1, ::getuid())); }},
    {"setresuid", For::nobody, [](const S&) { return done(::syscall(SYS_setresuid, -1, ::getuid(), -1)); }},
    {"setgroups", For::nobody_yet, [](const S&) { return done(::syscall(SYS_setgroups, 0UL, nullptr)); }},
    {"capset", For::nobody, [](const S&) { return sets_capabilities(); }},
    {"limit", For::nobody, [](const S&) {
       rlimit files{};
       ::getrlimit(RLIMIT_NOFILE, &files);
       return done(::setrlimit(RLIMIT_NOFILE, &files));
     }},
    {"priority", For::nobody, [](const S&) { return done(::setpriority(PRIO_PROCESS, 0, 0)); }},
    {"filter_others", For::nobody_yet, [](const S&) {
       return done(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, nullptr));
     }},
    {"filter_with_listener", For::nobody_yet, [](const S&) {
       return done(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, nullptr));
     }},
    {"confine", For::nobody_yet, [](const S&) { return done(::syscall(SYS_landlock_restrict_self, -1, 0U)); }},
    {"dumpable", For::nobody, [](const S&) { return done(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
    {"personality", For::nobody, [](const S&) { return done(::syscall(SYS_personality, 0xffffffffUL)); }},

    // Perf events: of processes, and whatever would show more than counts.
    {"count_cpu", For::nobody_yet, [](const S&) { return opens(count(event_attributes(), -1, some_cpu())); }},
    {"sample_cpu", For::nobody_yet, [](const S&) { return opens(count(sampling(), -1, some_cpu())); }},
    {"probe_that_writes", For::nobody_yet, [](const S& s) { return opens(count(writing_probe(s), -1, some_cpu())); }},
    {"probe_by_relative_path", For::nobody_yet, [](const S& s) {
       perf_event_attr attributes = writing_probe(s);
       char path[4096] = "../../../../../../../../../..";
       std::strncat(path, s.file, sizeof path - std::strlen(path) - 1);
       attributes.config1 = reinterpret_cast<std::uint64_t>(path);
       return opens(count(attributes, -1, some_cpu()));
     }},
    {"count_process", For::nobody_yet, [](const S&) { return opens(count(event_attributes(), 0, -1)); }},
    {"count_group", For::nobody_yet, [](const S& s) {
       return opens(count(event_attributes(), s.pair, some_cpu(), PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC));
     }},
    {"map_event", For::nobody_yet, [](const S& s) { return maps(2UL * 4096, PROT_READ, MAP_SHARED, s.event); }},
    {"redirect_event", For::nobody_yet, [](const S& s) { return perf_control(s, PERF_EVENT_IOC_SET_OUTPUT); }},
    {"filter_event", For::nobody_yet, [](const S& s) { return perf_control(s, PERF_EVENT_IOC_SET_FILTER); }},
    {"program_event", For::nobody_yet, [](const S& s) { return perf_control(s, PERF_EVENT_IOC_SET_BPF); }},
    {"start_event", For::nobody_yet, [](const S& s) { return perf_control(s, PERF_EVENT_IOC_ENABLE); }},

    // Devices. DRM_IOCTL_I915_GEM_EXECBUFFER2 and DRM_IOCTL_XE_EXEC: work for a GPU.
    {"gpu_work_i915", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_ioctl, s.pair, 0x40406469UL, nullptr)); }},
    {"gpu_work_xe", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_ioctl, s.pair, 0x40386449UL, nullptr)); }},
    {"terminal", For::nobody_yet, [](const S& s) { return done(::syscall(SYS_ioctl, s.pair, TIOCSTI, "x")); }},

    // Memory.
    {"code", For::nobody, [](const S&) { return maps(4096, PROT_READ | PROT_EXEC, kPrivate, -1); }},
    {"memory_to_code", For::nobody, [](const S&) {
       void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, kPrivate, -1, 0);
       if (page == MAP_FAILED) return false;
       const bool executable = ::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
       const int error = errno;
       ::munmap(page, 4096);
       errno = error;
       return executable;
     }},
    {"map_file", For::nobody, [](const S& s) {
       const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, s.file, O_RDONLY | O_CLOEXEC, 0));
       const bool mapped = maps(4096, PROT_READ, MAP_PRIVATE, fd);
       const int error = errno;
       ::close(fd);
       errno = error;
       return mapped;
     }},
};

// What is asked apart from the list, as its answer depends on more than the thread's kind.
constexpr Attempt kQuestions[] = {
    {"clone3", For::nobody_yet, [](const S&) { return done(::syscall(SYS_clone3, nullptr, 0UL)); }},
    // From the process that opens events: of PMUs that collectors read only.
    {"request_probe", For::nobody_yet, [](const S& s) { return opens_by_request({.type = s.uprobes}); }},
    {"request_tracepoint", For::nobody_yet, [](const S&) { return opens_by_request({.type = PERF_TYPE_TRACEPOINT}); }},
    {"request_software", For::nobody_yet, [](const S&) { return opens_by_request({.type = PERF_TYPE_SOFTWARE}); }},
    {"request_breakpoint", For::nobody_yet, [](const S&) { return opens_by_request({.type = PERF_TYPE_BREAKPOINT}); }},
    {"request_by_unknown_leader", For::nobody_yet,
     [](const S&) { return opens_by_request({.type = PERF_TYPE_SOFTWARE, .leader = 1000}); }},
    // Another program's connection in the place of one of these sockets could pass in descriptors.
    {"receiver_replaced", For::nobody_yet,
     [](const S& s) { return with_receivers([&s](int fd) { return done(::dup2(s.pair, fd)); }); }},
    {"receiver_replaced_by_dup3", For::nobody_yet,
     [](const S& s) { return with_receivers([&s](int fd) { return done(::dup3(s.pair, fd, O_CLOEXEC)); }); }},
    {"receiver_closed", For::nobody_yet,
     [](const S&) { return with_receivers([](int fd) { return done(::close(fd)); }); }},
    {"receiver_closed_with_others", For::nobody_yet,
     [](const S&) {
       return with_receivers([](int fd) {
         return done(::syscall(SYS_close_range, static_cast<unsigned>(fd), static_cast<unsigned>(fd), 0U));
       });
     }},
    {"receive_from_event_opener", For::nobody_yet,
     [](const S&) {
       msghdr message{};
       return done(::recvmsg(socket_of_event_opener(), &message, MSG_DONTWAIT));
     }},
    // An event that takes samples gives its count, and nothing else, to those that may not map it.
    {"read_samples", For::nobody_yet,
     [](const S& s) {
       std::array<char, 4096> buffer;
       const ssize_t size = ::read(s.event, buffer.data(), buffer.size());
       if (size == sizeof(std::uint64_t)) errno = ENODATA;
       return size > static_cast<ssize_t>(sizeof(std::uint64_t));
     }},
    {"list_sysfs", For::the_unconfined, [](const S&) { return opens("/sys", O_RDONLY | O_DIRECTORY); }},
    {"read_authorities", For::everybody, [](const S&) { return reads("/etc/ssl/certs/ca-certificates.crt"); }},
    {"list_keys", For::the_unconfined, [](const S&) { return opens("/etc/ssl", O_RDONLY | O_DIRECTORY); }},
    {"capabilities", For::collectors, [](const S&) { return has_capabilities(); }},
};

int listen_on_loopback(sockaddr_in& address) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  void* const raw = &address;
  if (::bind(socket, generic(address), size) != 0 || ::listen(socket, 100) != 0 ||
      ::getsockname(socket, static_cast<sockaddr*>(raw), &size) != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

}  // namespace

Surroundings prepare_surroundings(const char* folder, const char* outside, const char* maps) {
  static std::array<char, 512> file, other;
  Surroundings s;
  std::snprintf(file.data(), file.size(), "%s/file", folder);
  std::snprintf(other.data(), other.size(), "%s/other", folder);
  s.folder = folder;
  s.file = file.data();
  s.other = other.data();
  s.outside = outside;
  s.maps = maps;
  s.listening = listen_on_loopback(s.address);
  listen_on_loopback(s.elsewhere);
  sockaddr_in unused{};
  s.shut = listen_on_loopback(unused);
  ::shutdown(s.shut, SHUT_RDWR);
  s.stream = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  s.datagram = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::array<int, 2> pair{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0) s.pair = pair[0];
  s.receiver = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  s.receiver_address.sun_family = AF_UNIX;
  std::snprintf(s.receiver_address.sun_path, sizeof s.receiver_address.sun_path, "%s/receiver", folder);
  ::unlink(s.receiver_address.sun_path);
  const void* const raw = &s.receiver_address;
  ::bind(s.receiver, static_cast<const sockaddr*>(raw), sizeof s.receiver_address);
  ::chmod(s.receiver_address.sun_path, 0666);
  s.processes = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  s.opened = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (std::FILE* const type = std::fopen("/sys/bus/event_source/devices/uprobe/type", "r")) {
    if (std::fscanf(type, "%u", &s.uprobes) != 1) s.uprobes = 0;
    std::fclose(type);
  }
  perf_event_attr attributes = sampling();
  attributes.exclude_kernel = 1;
  s.event = static_cast<int>(count(attributes, 0, -1));
  return s;
}

std::span<const Attempt> sandbox_attempts() { return kAttempts; }

int injecting_signal() { return SIGRTMIN + 7; }

const Attempt* attempt_number(int number) {
  if (number < 0) return nullptr;
  auto at = static_cast<std::size_t>(number);
  if (at < std::size(kAttempts)) return &kAttempts[at];
  at -= std::size(kAttempts);
  return at < std::size(kQuestions) ? &kQuestions[at] : nullptr;
}

const Attempt* find_attempt(const char* name) {
  for (int number = 0;; ++number) {
    const Attempt* const attempt = attempt_number(number);
    if (attempt == nullptr || std::strcmp(attempt->name, name) == 0) return attempt;
  }
}

}  // namespace igpu::test
