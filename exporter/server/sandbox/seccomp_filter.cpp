// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <system_error>
#include <type_traits>

#include "platform/own_process.h"
#include "server/sandbox/sandbox.h"

namespace igpu::exporter {
namespace {

struct ReleaseFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};
using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, ReleaseFilter>;

// Numbers of libseccomp: a call that this architecture does not have is negative, and libseccomp ignores it.
//
// The list was recorded from the running program (tests/end_to_end/sandbox_calls) and completed with the calls that the
// C library may use instead in other versions and architectures.

// Files: reading and listing. Opening is conditional, below.
constexpr int kFileCalls[] = {SCMP_SYS(read),        SCMP_SYS(readv),      SCMP_SYS(pread64),    SCMP_SYS(preadv),
                              SCMP_SYS(preadv2),     SCMP_SYS(lseek),      SCMP_SYS(_llseek),    SCMP_SYS(close),
                              SCMP_SYS(close_range), SCMP_SYS(stat),       SCMP_SYS(lstat),      SCMP_SYS(fstat),
                              SCMP_SYS(newfstatat),  SCMP_SYS(fstatat64),  SCMP_SYS(fstat64),    SCMP_SYS(stat64),
                              SCMP_SYS(lstat64),     SCMP_SYS(statx),      SCMP_SYS(statfs),     SCMP_SYS(fstatfs),
                              SCMP_SYS(access),      SCMP_SYS(faccessat),  SCMP_SYS(faccessat2), SCMP_SYS(readlink),
                              SCMP_SYS(readlinkat),  SCMP_SYS(getdents64), SCMP_SYS(getcwd),     SCMP_SYS(fadvise64),
                              SCMP_SYS(dup),         SCMP_SYS(dup2),       SCMP_SYS(dup3)};
// Writing to open descriptors: the log, sockets, eventfds. No file is open for writing.
constexpr int kWritingCalls[] = {SCMP_SYS(write), SCMP_SYS(writev)};
// Open sockets: accepting clients and receiving. Sending and options are conditional, below.
// Not sendmsg and sendmmsg: their address and flags are in memory, which a filter cannot read, and with
// MSG_FASTOPEN they connect. Not recvmmsg, and recvmsg on one socket only: another process could pass in
// descriptors.
constexpr int kSocketCalls[] = {SCMP_SYS(accept),      SCMP_SYS(accept4),     SCMP_SYS(recvfrom),  SCMP_SYS(shutdown),
                                SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(getsockopt)};
// Waiting, wake-ups, clocks, and random numbers.
constexpr int kWaitingCalls[] = {SCMP_SYS(poll),         SCMP_SYS(ppoll),           SCMP_SYS(select),
                                 SCMP_SYS(pselect6),     SCMP_SYS(eventfd2),        SCMP_SYS(pipe2),
                                 SCMP_SYS(futex),        SCMP_SYS(futex_waitv),     SCMP_SYS(restart_syscall),
                                 SCMP_SYS(nanosleep),    SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime),
                                 SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday),    SCMP_SYS(time),
                                 SCMP_SYS(getrandom)};
constexpr int kEventCalls[] = {SCMP_SYS(epoll_create1),   SCMP_SYS(epoll_ctl),      SCMP_SYS(epoll_wait),
                               SCMP_SYS(epoll_pwait),     SCMP_SYS(epoll_pwait2),   SCMP_SYS(timerfd_create),
                               SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime)};
// Memory. Mapping and protection are conditional, below.
constexpr int kMemoryCalls[] = {SCMP_SYS(brk),     SCMP_SYS(munmap),  SCMP_SYS(mremap),
                                SCMP_SYS(madvise), SCMP_SYS(mincore), SCMP_SYS(membarrier)};
// Threads and signals of this process. Starting and signalling threads is conditional, below.
constexpr int kThreadCalls[] = {SCMP_SYS(set_robust_list),   SCMP_SYS(get_robust_list), SCMP_SYS(rseq),
                                SCMP_SYS(set_tid_address),   SCMP_SYS(gettid),          SCMP_SYS(sched_yield),
                                SCMP_SYS(sched_getaffinity), SCMP_SYS(getcpu),          SCMP_SYS(exit),
                                SCMP_SYS(exit_group),        SCMP_SYS(rt_sigaction),    SCMP_SYS(rt_sigprocmask),
                                SCMP_SYS(rt_sigreturn),      SCMP_SYS(rt_sigpending),   SCMP_SYS(rt_sigtimedwait),
                                SCMP_SYS(sigaltstack)};
// Identity, capabilities and resource usage: process_* metrics and doctor's reasons.
constexpr int kIdentityCalls[] = {SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(getuid),    SCMP_SYS(geteuid),
                                  SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getrusage), SCMP_SYS(getrlimit),
                                  SCMP_SYS(times),  SCMP_SYS(sysinfo), SCMP_SYS(uname),     SCMP_SYS(capget)};
constexpr std::span<const int> kPlainCalls[] = {kFileCalls,  kWritingCalls, kSocketCalls, kWaitingCalls,
                                                kEventCalls, kMemoryCalls,  kThreadCalls, kIdentityCalls};

// Of each helper, for reading files or listing folders; more is conditional.
constexpr int kCallsOfHelpers[] = {
    SCMP_SYS(read),         SCMP_SYS(close),     SCMP_SYS(lseek),      SCMP_SYS(getdents64), SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),   SCMP_SYS(brk),       SCMP_SYS(munmap),     SCMP_SYS(futex),      SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(getrandom), SCMP_SYS(exit_group),
};

// More for reading sysfs.
constexpr int kCallsOfEventOpener[] = {SCMP_SYS(pread64), SCMP_SYS(fstatfs)};

// More of both helpers of a push. Nothing with which a socket listens, accepts or gets an address.
constexpr int kCallsOfPush[] = {
    SCMP_SYS(connect),       SCMP_SYS(recvfrom),        SCMP_SYS(getsockopt),   SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),   SCMP_SYS(shutdown),        SCMP_SYS(poll),         SCMP_SYS(ppoll),
    SCMP_SYS(select),        SCMP_SYS(pselect6),        SCMP_SYS(nanosleep),    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime), SCMP_SYS(restart_syscall), SCMP_SYS(gettimeofday), SCMP_SYS(time),
    SCMP_SYS(rt_sigaction),  SCMP_SYS(getpid),          SCMP_SYS(gettid),       SCMP_SYS(getuid),
    SCMP_SYS(geteuid),       SCMP_SYS(getgid),          SCMP_SYS(getegid),      SCMP_SYS(uname),
};
constexpr int kFileCallsOfPush[] = {
    SCMP_SYS(readv),    SCMP_SYS(pread64),    SCMP_SYS(write),  SCMP_SYS(writev),    SCMP_SYS(_llseek),
    SCMP_SYS(stat),     SCMP_SYS(lstat),      SCMP_SYS(stat64), SCMP_SYS(fstat64),   SCMP_SYS(fstatat64),
    SCMP_SYS(statx),    SCMP_SYS(fstatfs),    SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(mremap), SCMP_SYS(madvise),
};

// More for writing a file.
constexpr int kCallsOfFlightWriter[] = {
    SCMP_SYS(write), SCMP_SYS(_llseek), SCMP_SYS(fstat64), SCMP_SYS(fstatat64),
    SCMP_SYS(statx), SCMP_SYS(fsync),   SCMP_SYS(mremap),  SCMP_SYS(madvise),
};

// Running another program, which the exporter never does: an attempt is an attack.
constexpr int kForbidden[] = {SCMP_SYS(execve), SCMP_SYS(execveat)};

// The C library tries these first and falls back to an older call on ENOSYS, but not on EPERM.
//   clone3: its flags are in memory, which a filter cannot read; clone() has them in a register
//   openat2: the same
constexpr int kUnsupported[] = {SCMP_SYS(clone3), SCMP_SYS(openat2)};

// O_TMPFILE without its O_DIRECTORY part: folders may be opened.
constexpr scmp_datum_t kTmpfile = O_TMPFILE & ~O_DIRECTORY;
constexpr scmp_datum_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | kTmpfile;
constexpr scmp_datum_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr scmp_datum_t kHowToSend = MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE;
constexpr scmp_datum_t kHowToFilter = SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
constexpr scmp_datum_t kGpuQueries[] = {kI915Query, kI915Getparam, kXeDeviceQuery, kI915Throttle};
constexpr scmp_datum_t kLow32 = 0xffffffff;  // of int arguments: the kernel ignores the upper half

class Rules {
 public:
  explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}

  // A rule applies if all its conditions do. Several rules of one call are alternatives.
  void allow(int call, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    answer(call, SCMP_ACT_ALLOW, conditions);
  }
  void answer(int call, std::uint32_t action, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    const int result =
        ::seccomp_rule_add_array(filter_, action, call, static_cast<unsigned>(conditions.size()), conditions.begin());
    if (result < 0 && error_ == 0) error_ = -result;
  }
  int error() const { return error_; }

 private:
  scmp_filter_ctx filter_;
  int error_ = 0;
};

scmp_arg_cmp masked(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}
scmp_arg_cmp is_null(unsigned argument) { return {argument, SCMP_CMP_EQ, 0, 0}; }
template <class Number>
scmp_arg_cmp is_int(unsigned argument, Number value) {
  return masked(argument, kLow32, static_cast<scmp_datum_t>(value) & kLow32);
}

// Not the commands that request signals (F_SETOWN, F_SETSIG, O_ASYNC, F_NOTIFY, F_SETLEASE): the kernel would send them
// to any process of the caller's user, and as root to every process. No locks.
void allow_commands(Rules& rules, std::initializer_list<int> commands) {
  for (const int command : commands) rules.allow(SCMP_SYS(fcntl), {is_int(1, command)});
}

void allow_waiting_or_not(Rules& rules) { rules.allow(SCMP_SYS(fcntl), {is_int(1, F_SETFL), masked(2, O_ASYNC, 0)}); }

// Anonymous and never executable.
void allow_memory(Rules& rules) {
  rules.allow(SCMP_SYS(mmap), {masked(2, PROT_EXEC, 0), masked(3, MAP_ANONYMOUS, MAP_ANONYMOUS)});
  rules.allow(SCMP_SYS(mmap2), {masked(2, PROT_EXEC, 0), masked(3, MAP_ANONYMOUS, MAP_ANONYMOUS)});
  rules.allow(SCMP_SYS(mprotect), {masked(2, PROT_EXEC, 0)});
}

void allow_sockets(Rules& rules, std::initializer_list<int> families, int type, std::initializer_list<int> protocols) {
  for (const int family : families) {
    for (const int protocol : protocols) {
      rules.allow(SCMP_SYS(socket),
                  {is_int(0, family),
                   masked(1, kLow32 & ~scmp_datum_t{SOCK_CLOEXEC | SOCK_NONBLOCK}, static_cast<scmp_datum_t>(type)),
                   is_int(2, protocol)});
    }
  }
}

// MPTCP and TCP Fast Open, which connect past Landlock's rule for TCP, are not among these: the first is a protocol of
// its own, and the second a flag of sending or an option.
void add_calls_of_push(Rules& rules) {
  for (const int call : kCallsOfPush) rules.allow(call);
  for (const int call : kFileCallsOfPush) rules.allow(call);
  allow_sockets(rules, {AF_INET, AF_INET6}, SOCK_STREAM, {0, IPPROTO_TCP});
  rules.allow(SCMP_SYS(sendto), {is_null(4), masked(3, kLow32 & ~kHowToSend, 0)});
  allow_commands(rules, {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC});
  allow_waiting_or_not(rules);
  rules.allow(SCMP_SYS(ioctl), {is_int(1, FIONREAD)});
  rules.allow(SCMP_SYS(ioctl), {is_int(1, FIONBIO)});
  rules.allow(SCMP_SYS(open), {masked(1, kWriting, 0)});
  rules.allow(SCMP_SYS(openat), {masked(2, kWriting, 0)});
  // Libraries are loaded before this filter.
  allow_memory(rules);
}

void add_conditional_calls(Rules& rules, std::span<const int> receivers) {
  // Read-only, which is enough for DRM ioctls.
  rules.allow(SCMP_SYS(open), {masked(1, kWriting, 0)});
  rules.allow(SCMP_SYS(openat), {masked(2, kWriting, 0)});

  // Threads only: fork(), vfork() and posix_spawn() do not set CLONE_THREAD. No namespaces.
  rules.allow(SCMP_SYS(clone), {masked(0, CLONE_THREAD | CLONE_VM | kNamespaces, CLONE_THREAD | CLONE_VM)});
  // For abort() and raise().
  rules.allow(SCMP_SYS(tgkill), {is_int(0, ::getpid())});

  // No executable memory: no library is loaded after the start, and data of an attacker cannot become code. Anonymous
  // memory only: a mapped perf event would expose other processes' registers and stacks, read() returns counts.
  allow_memory(rules);

  // To connected peers only; send() is this call without an address.
  rules.allow(SCMP_SYS(sendto), {is_null(4), masked(3, kLow32 & ~kHowToSend, 0)});
  rules.allow(SCMP_SYS(setsockopt), {is_int(1, SOL_SOCKET), is_int(2, SO_KEEPALIVE)});
  rules.allow(SCMP_SYS(setsockopt), {is_int(1, IPPROTO_TCP), is_int(2, TCP_NODELAY)});

  // Another process opens perf events, because a filter cannot read an event's type, which is in memory.
  for (const int receiver : receivers) {
    rules.allow(SCMP_SYS(recvmsg), {is_int(0, receiver)});
  }
  // One pass of a BPF iterator that was attached before. Of bpf(2) nothing else: no program, no map, no link.
  rules.allow(SCMP_SYS(bpf), {is_int(0, BPF_ITER_CREATE)});
  // Queries of render nodes, which submit no work to the GPU.
  for (const scmp_datum_t request : kGpuQueries) rules.allow(SCMP_SYS(ioctl), {is_int(1, request)});
  for (const int request : {FIONBIO, FIONREAD, TCGETS})  // TCGETS: isatty()
    rules.allow(SCMP_SYS(ioctl), {is_int(1, request)});

  // A thread may restrict itself further, as threads that serve clients do, but no other thread.
  rules.allow(SCMP_SYS(seccomp), {is_int(0, SECCOMP_SET_MODE_FILTER), masked(1, kLow32 & ~kHowToFilter, 0)});

  // Reading limits, not setting them.
  rules.allow(SCMP_SYS(prlimit64), {is_null(2)});
  // Of locks only the question who holds one.
  allow_commands(rules, {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC, F_GETLK});
  allow_waiting_or_not(rules);

  // A collector that reads a file of the caller's again lowers what is effective meanwhile. No capability is gained.
  if (has_rights_of_its_file()) rules.allow(SCMP_SYS(capset));

  // Names of threads and of memory.
  rules.allow(SCMP_SYS(prctl), {is_int(0, PR_SET_NAME)});
  rules.allow(SCMP_SYS(prctl), {is_int(0, PR_GET_NAME)});
  rules.allow(SCMP_SYS(prctl), {is_int(0, 0x53564d41)});  // PR_SET_VMA
}

LayerOutcome filter_failed(const char* what, int error) {
  const char* hint = error == EINVAL || error == ENOSYS
                         ? "use a kernel built with CONFIG_SECCOMP_FILTER, or a container that allows seccomp"
                         : "check whether a seccomp profile of the service or container denies seccomp";
  return LayerOutcome::missing(std::string(what) + ": " + std::generic_category().message(error), hint);
}

// What the rules do not mention is answered with `otherwise`.
template <class Add>
LayerOutcome load_filter(std::uint32_t otherwise, bool all_threads, const Add& add) {
  const Filter filter(::seccomp_init(otherwise));
  if (!filter) return filter_failed("seccomp_init", ENOMEM);
  Rules rules(filter.get());
  add(rules);
  if (rules.error() != 0) return filter_failed("seccomp_rule_add", rules.error());
  if (all_threads) {
    (void)::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // binary search instead of a linear one
    if (const int error = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1); error != 0)
      return filter_failed("seccomp (all threads at once)", -error);
  }
  // Only injected code makes calls of another architecture (32 bit, x32).
  (void)::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  (void)::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_LOG, 1);
  // Kernels before 5.16 slow down filtered processes to protect against untrusted code in them; here there is none.
  (void)::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_SSB, 1);
  // no_new_privs is set already, and after the first filter nothing can set it.
  (void)::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 0);
  if (const int error = ::seccomp_load(filter.get()); error != 0) return filter_failed("seccomp", -error);
  return LayerOutcome::holds();
}

void forbid_programs(Rules& rules) {
  for (const int call : kForbidden) rules.answer(call, SCMP_ACT_KILL_PROCESS);
  for (const int call : kUnsupported) rules.answer(call, SCMP_ACT_ERRNO(ENOSYS));
}

// add: adds what a process may do besides.
template <class Add>
LayerOutcome load_for_helper(const Add& add) {
  return load_filter(SCMP_ACT_ERRNO(EPERM), false, [&](Rules& rules) {
    for (const int call : kCallsOfHelpers) rules.allow(call);
    add(rules);
    forbid_programs(rules);
  });
}

}  // namespace

LayerOutcome filter_calls_of_process(std::span<const int> receivers) {
  return load_filter(SCMP_ACT_ERRNO(EPERM), true, [receivers](Rules& rules) {
    for (const std::span<const int> calls : kPlainCalls)
      for (const int call : calls) rules.allow(call);
    add_conditional_calls(rules, receivers);
    forbid_programs(rules);
  });
}

LayerOutcome filter_calls_of_event_opener(int socket) {
  return load_for_helper([socket](Rules& rules) {
    for (const int call : kCallsOfEventOpener) rules.allow(call);
    allow_commands(rules, {F_GETFD, F_SETFD, F_GETFL});
    rules.allow(SCMP_SYS(recvfrom), {is_int(0, socket)});
    rules.allow(SCMP_SYS(sendmsg), {is_int(0, socket)});
    // Of a whole CPU, never of a process or a control group.
    rules.allow(SCMP_SYS(perf_event_open), {is_int(1, kLow32), is_int(4, PERF_FLAG_FD_CLOEXEC)});
    rules.allow(SCMP_SYS(openat), {masked(2, kWriting, 0)});
    rules.allow(SCMP_SYS(mmap), {masked(2, PROT_EXEC, 0), masked(3, MAP_ANONYMOUS, MAP_ANONYMOUS)});
  });
}

LayerOutcome filter_calls_of_push_client() {
  return load_for_helper([](Rules& rules) {
    add_calls_of_push(rules);
    for (const int option : {TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL})
      rules.allow(SCMP_SYS(setsockopt), {is_int(1, IPPROTO_TCP), is_int(2, option)});
    rules.allow(SCMP_SYS(setsockopt), {is_int(1, SOL_SOCKET), is_int(2, SO_KEEPALIVE)});
  });
}

LayerOutcome filter_calls_of_resolver(bool asks_avahi) {
  return load_for_helper([asks_avahi](Rules& rules) {
    add_calls_of_push(rules);
    allow_sockets(rules, {AF_INET, AF_INET6}, SOCK_DGRAM, {0, IPPROTO_UDP});
    if (asks_avahi) allow_sockets(rules, {AF_UNIX}, SOCK_STREAM, {0});
    rules.allow(SCMP_SYS(sendmmsg), {masked(3, kLow32 & ~kHowToSend, 0)});
    // glibc asks for errors by ICMP.
    rules.allow(SCMP_SYS(setsockopt), {is_int(1, IPPROTO_IP), is_int(2, IP_RECVERR)});
    rules.allow(SCMP_SYS(setsockopt), {is_int(1, IPPROTO_IPV6), is_int(2, IPV6_RECVERR)});
  });
}

LayerOutcome filter_calls_of_flight_writer(int socket, int folder) {
  return load_for_helper([socket, folder](Rules& rules) {
    for (const int call : kCallsOfFlightWriter) rules.allow(call);
    rules.allow(SCMP_SYS(recvfrom), {is_int(0, socket)});
    rules.allow(SCMP_SYS(sendto), {is_int(0, socket), is_null(4)});
    allow_commands(rules, {F_GETFD, F_SETFD, F_GETFL});
    // Where a path leads that is absolute, or goes up, is for Landlock to decide.
    rules.allow(SCMP_SYS(openat), {is_int(0, folder), masked(2, kWriting, 0)});
    rules.allow(SCMP_SYS(openat), {is_int(0, folder), masked(2, kWriting | O_EXCL | O_NOFOLLOW,
                                                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)});
    rules.allow(SCMP_SYS(renameat), {is_int(0, folder), is_int(2, folder)});
    rules.allow(SCMP_SYS(renameat2), {is_int(0, folder), is_int(2, folder), is_int(4, 0)});
    rules.allow(SCMP_SYS(unlinkat), {is_int(0, folder), is_int(2, 0)});
    allow_memory(rules);
  });
}

LayerOutcome filter_calls_of_clients(std::span<const int> receivers) {
  return load_filter(SCMP_ACT_ALLOW, false, [receivers](Rules& rules) {
    constexpr std::uint32_t kDenied = SCMP_ACT_ERRNO(EPERM);
    for (const int call : {SCMP_SYS(bpf), SCMP_SYS(seccomp), SCMP_SYS(recvmsg)}) rules.answer(call, kDenied);
    // Otherwise another program's connection could take the number of one of them.
    for (const int receiver : receivers) {
      rules.answer(SCMP_SYS(close), kDenied, {is_int(0, receiver)});
      rules.answer(SCMP_SYS(dup2), kDenied, {is_int(1, receiver)});
      rules.answer(SCMP_SYS(dup3), kDenied, {is_int(1, receiver)});
    }
    if (!receivers.empty()) rules.answer(SCMP_SYS(close_range), kDenied);
    for (const scmp_datum_t request : kGpuQueries) rules.answer(SCMP_SYS(ioctl), kDenied, {is_int(1, request)});
  });
}

}  // namespace igpu::exporter
