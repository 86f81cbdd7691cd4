// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "igpu/words.h"
#include "platform/own_process.h"

namespace igpu::exporter {
namespace {

// The runtime of a sanitizer traces this process from another one; coverage is written at the end.
LayerOutcome instrumented() { return LayerOutcome::missing("this build is instrumented (sanitizer or coverage)", ""); }

// Counts of this process's threads that a layer does not cover.
struct Uncovered {
  std::size_t threads = 0, capable = 0, privileged = 0, unfiltered = 0;
};

Uncovered count_uncovered_threads(CapabilitySet kept) {
  Uncovered uncovered;
  for (const ThreadStatus& thread : own_threads()) {
    ++uncovered.threads;
    if (((thread.permitted | thread.effective) & ~kept) != 0 || (thread.inheritable | thread.ambient) != 0)
      ++uncovered.capable;
    if (!thread.no_new_privs) ++uncovered.privileged;
    if (thread.seccomp != 2) ++uncovered.unfiltered;
  }
  return uncovered;
}

void mark_missing(LayerOutcome& outcome, std::size_t uncovered, std::size_t threads) {
  if (!outcome.on || uncovered == 0) return;
  outcome = LayerOutcome::missing(
      std::to_string(uncovered) + " of " + std::to_string(threads) + " threads are without it", "please report this");
}

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

// Returns this process' end of the socket. Throws std::system_error.
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

// Three lines for each outcome.
std::string written(const SandboxOutcomes& outcomes) {
  std::string text;
  for (const LayerOutcome& outcome : outcomes)
    text += std::string(outcome.on ? "on" : "") + '\n' + outcome.detail + '\n' + outcome.hint + '\n';
  return text;
}

bool read_back(std::string_view text, SandboxOutcomes& outcomes) {
  for (LayerOutcome& outcome : outcomes) {
    if (text.empty()) return false;
    outcome.on = take_until(text, '\n') == "on";
    outcome.detail = take_until(text, '\n');
    outcome.hint = take_until(text, '\n');
  }
  return true;
}

std::string tried(const SandboxPlan& plan) {
  Sandbox sandbox(plan);
  sandbox.protect_memory();
  (void)sandbox.start_event_opener([] { return [](int) {}; });
  while (::wait(nullptr) < 0 && errno == EINTR) {  // the opener has ended; the filter forbids this call
  }
  sandbox.drop_privileges();
  sandbox.confine_clients();
  sandbox.filter_system_calls();
  return written(sandbox.outcomes());
}

[[noreturn]] void try_in_child(const SandboxPlan& plan, int out) {
  std::string text;
  try {
    text = tried(plan);
  } catch (const std::exception&) {
    ::_exit(1);
  }
  const ssize_t size = ::write(out, text.data(), text.size());  // far less than the capacity of a pipe
  ::_exit(size == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

}  // namespace

Sandbox::Sandbox(SandboxPlan plan) : plan_(std::move(plan)) {
  outcomes_.fill(LayerOutcome::missing("turned off by --no-sandbox", ""));
}

void Sandbox::keep_readable(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const std::string& folder : folders_of(file)) {
      plan_.files.readable.push_back(folder);
      plan_.client_files.readable.push_back(folder);
    }
  }
  reread_.insert(reread_.end(), files.begin(), files.end());
}

void Sandbox::protect_memory() {
  if (!plan_.on) return;
  at(Layer::core_dumps) = kInstrumented ? instrumented() : forbid_core_dumps();
}

UniqueFd Sandbox::start(Helper helper) const {
  helper.confined = plan_.on;
  return start_helper(helper);
}

std::optional<int> Sandbox::start_event_opener(const OpenSysfs& open) {
  if (!plan_.on || !plan_.uses.reads_kernel) return std::nullopt;
  counting_ = capabilities_to_count();
  std::function<void(int socket)> serve;  // in the other process
  receivers_.push_back(start_helper({.name = "event-opener",
                                     .passes_descriptors = true,
                                     .keep = counting_,
                                     .to_prepare = capability::set(capability::kSysChroot),
                                     .files = plan_.event_files,
                                     .prepare =
                                         [&](int) {
                                           serve = open();
                                           for (const std::string& sysfs : plan_.event_files.readable)
                                             if (!kInstrumented) (void)leave_files(sysfs);
                                         },
                                     .filter = &filter_calls_of_event_opener,
                                     .serve = [&serve](int socket) { serve(socket); }})
                           .release());
  return receivers_.back();
}

void Sandbox::drop_privileges() {
  if (!plan_.on) return;
  try {
    kept_ = capabilities_to_keep(plan_.uses);
    clients_keep_ = capabilities_to_read(reread_, kept_);
    if (!plan_.uses.reads_kernel) kept_ = clients_keep_;  // collectors that do not read the kernel need none
    at(Layer::capabilities) = drop_capabilities(kept_);
    add_counting(counting_, at(Layer::capabilities));
  } catch (const std::exception& error) {
    at(Layer::capabilities) = LayerOutcome::missing(error.what(), "please report this");
  }
  at(Layer::no_new_privs) = forbid_new_privileges();
  if (!plan_.reads_processes) confine(plan_.files);
}

void Sandbox::confine_clients() {
  if (!plan_.on) return;
  // If all threads are already confined, these are confined further.
  if (plan_.reads_processes || at(Layer::landlock).on) confine(plan_.client_files);
  limit_clients();
}

void Sandbox::limit_clients() {
  LayerOutcome& outcome = at(Layer::capabilities);
  if (!outcome.on) return;
  if (!limit_capabilities(clients_keep_)) {
    outcome = LayerOutcome::missing("capset: " + std::generic_category().message(errno), "please report this");
    return;
  }
  if (kept_ == 0) return;
  outcome.detail += clients_keep_ == 0 ? "; threads that serve clients keep none"
                                       : "; threads that serve clients keep " + names_of(clients_keep_);
}

void Sandbox::confine(const FileAccess& access) {
  LayerOutcome& outcome = at(Layer::landlock);
  outcome = kInstrumented ? instrumented() : confine_files(access, held_);
  if (outcome.on && plan_.reads_processes) {
    outcome.detail += "; not for collectors' threads, which read other processes";
  }
}

void Sandbox::filter_system_calls() {
  if (!plan_.on) return;
  LayerOutcome& filtered = at(Layer::seccomp);
  filtered = kInstrumented ? instrumented() : filter_calls_of_process(receivers_);
  if (filtered.on) filtered = filter_calls_of_clients(receivers_);
  if (!kInstrumented) verify();  // a sanitizer starts a thread of its own
}

void Sandbox::verify() {
  const Uncovered uncovered = count_uncovered_threads(kept_);
  const ThreadCapabilities own = own_capabilities();  // inherited by threads that serve clients
  if (((own.permitted | own.effective | own.inheritable) & ~clients_keep_) != 0)
    mark_missing(at(Layer::capabilities), 1, 1);
  mark_missing(at(Layer::capabilities), uncovered.capable, uncovered.threads);
  mark_missing(at(Layer::no_new_privs), uncovered.privileged, uncovered.threads);
  mark_missing(at(Layer::seccomp), uncovered.unfiltered, uncovered.threads);
}

bool Sandbox::keeps_files() const { return outcome(Layer::seccomp).on; }

void Sandbox::report(Log& log) const {
  if (!plan_.on) return report_off(log);
  log.write(LogLevel::info, "sandbox",
            {{"on", layers_on(outcomes_)}, {"capabilities", outcome(Layer::capabilities).detail}});
  for (const Layer layer : kLayers) {
    const LayerOutcome& one = outcome(layer);
    if (one.on && !one.hint.empty()) {
      log.write(LogLevel::info, "a sandbox layer is weaker than it could be",
                {{"layer", to_string(layer)}, {"reason", one.detail}, {"hint", one.hint}});
    }
    report_missing(layer, one, layer == Layer::landlock ? LogLevel::info : LogLevel::warn, log);
  }
}

SandboxOutcomes try_sandbox(const SandboxPlan& plan) {
  SandboxOutcomes outcomes;
  outcomes.fill(LayerOutcome::missing("the trial process ended early", "please report this"));
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return outcomes;
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return outcomes;
  if (child == 0) try_in_child(plan, out.get());
  out.reset();
  std::string text;
  std::array<char, 1024> buffer;
  for (;;) {
    const ssize_t size = ::read(in.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  (void)wait_for_exit(child);
  SandboxOutcomes reported;
  return read_back(text, reported) ? reported : outcomes;
}

}  // namespace igpu::exporter
