// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <vector>

#include "platform/own_process.h"
#include "server/sandbox/privileges.h"

namespace igpu::exporter {
namespace {

// Signals that end this process reach the whole group or service; it still has to serve the last scrapes.
[[noreturn]] void run_helper(const Helper& helper, int socket) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  (void)::prctl(PR_SET_NAME, helper.name);
  constexpr int kSocket = STDERR_FILENO + 1;
  if (::dup2(socket, kSocket) < 0) ::_exit(1);  // inherited sockets, and the other end, are not for this process
  ::closefrom(kSocket + 1);
  if (!kInstrumented) {  // the exporter's log and terminal are not for it either; a sanitizer's report is
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (int standard = STDIN_FILENO; nothing && standard <= STDERR_FILENO; ++standard)
      (void)::dup2(nothing.get(), standard);
  }
  std::vector<UniqueFd> held;
  try {
    if (helper.begin) helper.begin(kSocket);
    wipe_environment();
    if (helper.confined && helper.as_nobody) become_nobody();
    if (helper.confined || has_rights_of_its_file()) (void)drop_capabilities(helper.keep | helper.to_prepare);
    if (helper.confined) (void)forbid_new_privileges();
    // Also while it does not read its socket. A change of the user would clear it.
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool confined = helper.confined && !kInstrumented;
    if (confined) (void)confine_files(helper.files, held);
    if (helper.prepare) helper.prepare(kSocket);
    if (helper.to_prepare != 0) (void)limit_capabilities(helper.keep & own_capabilities().permitted);
    if (confined) (void)helper.filter(kSocket);
    helper.serve(kSocket);
  } catch (const std::exception&) {
    ::_exit(1);  // the exporter reports what is wrong
  }
  ::_exit(0);
}

}  // namespace

UniqueFd start_helper(const Helper& helper) {
  std::array<int, 2> ends{-1, -1};
  const int type = helper.passes_descriptors ? SOCK_SEQPACKET : SOCK_STREAM;
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  UniqueFd own(ends[0]);
  const UniqueFd others(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    own.reset();
    run_helper(helper, others.get());
  }
  return own;
}

}  // namespace igpu::exporter
