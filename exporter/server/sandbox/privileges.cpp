// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox/privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>

#include "igpu/unique_fd.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

// calls: what a profile may deny.
LayerOutcome failed(const char* call, const char* calls) {
  return LayerOutcome::missing(
      std::string(call) + ": " + std::generic_category().message(errno),
      std::string("check whether a seccomp profile of the service or container denies ") + calls);
}

struct FreeCapabilities {
  void operator()(void* object) const { ::cap_free(object); }
};
using CapabilityState = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities>;
using Text = std::unique_ptr<char, FreeCapabilities>;

constexpr int kMost = 64;  // of a CapabilitySet and of the kernel's interface

std::string name_of(int number) {
  const Text name(::cap_to_name(number));
  if (!name) throw std::bad_alloc();
  std::string text(name.get());
  if (!text.starts_with("cap_")) return "capability " + text;  // libcap is older than the kernel
  std::transform(text.begin(), text.end(), text.begin(), to_upper);
  return text;
}

CapabilitySet read_set(const CapabilityState& state, cap_flag_t flag) {
  CapabilitySet set = 0;
  for (int number = 0; number < kMost; ++number) {
    cap_flag_value_t value = CAP_CLEAR;
    if (::cap_get_flag(state.get(), number, flag, &value) == 0 && value == CAP_SET) set |= capability::set(number);
  }
  return set;
}

void write_set(const CapabilityState& state, cap_flag_t flag, CapabilitySet set) {
  for (cap_value_t number = 0; number < kMost; ++number) {
    if ((set & capability::set(number)) != 0) (void)::cap_set_flag(state.get(), flag, 1, &number, CAP_SET);
  }
}

bool set_own(const ThreadCapabilities& wanted) {
  const CapabilityState state(::cap_init());
  if (!state) return false;
  write_set(state, CAP_EFFECTIVE, wanted.effective);
  write_set(state, CAP_PERMITTED, wanted.permitted);
  write_set(state, CAP_INHERITABLE, wanted.inheritable);
  return ::cap_set_proc(state.get()) == 0;
}

bool may_count_here() {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.disabled = 1;
  // The first CPU may be offline; this thread's is not.
  const int cpu = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
  for (int i = 0; i < cpu; ++i) {
    const UniqueFd event(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, -1, i, -1, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
    if (event) return true;
    if (errno != ENODEV) return false;
  }
  return false;
}

std::optional<std::uint64_t> value_of(std::string_view text, std::string_view key, int base) {
  const std::string wanted = "\n" + std::string(key) + ":";
  const std::size_t found = text.find(wanted);
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + wanted.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

LayerOutcome forbid_core_dumps() {
  const rlimit none{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &none);  // where it applies, the kernel stops here
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return failed("prctl(PR_SET_DUMPABLE)", "prctl");
  return LayerOutcome::holds();
}

LayerOutcome forbid_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("prctl(PR_SET_NO_NEW_PRIVS)", "prctl");
  return LayerOutcome::holds();
}

void become_nobody() {
  constexpr id_t kNobody = 65534;
  constexpr CapabilitySet kNeeded = capability::set(capability::kSetgid) | capability::set(capability::kSetuid);
  // Under a service's filter of system calls an attempt could end the process.
  if (::geteuid() != 0 || (own_capabilities().effective & kNeeded) != kNeeded || ::setgroups(0, nullptr) != 0) return;
  if (::setresgid(kNobody, kNobody, kNobody) == 0) (void)!::setresuid(kNobody, kNobody, kNobody);
}

void wipe_environment() {
  for (char** variable = ::environ; *variable != nullptr; ++variable)
    if (const std::string_view text(*variable); !text.starts_with("RES_OPTIONS=") && !text.starts_with("LOCALDOMAIN="))
      ::explicit_bzero(*variable, text.size());
}

bool leave_files(const std::string& sysfs) {
  // This bus has no drivers, and no link in sysfs goes through their folder.
  return ::chroot((sysfs + "/bus/event_source/drivers").c_str()) == 0 && ::chdir("/") == 0;
}

std::string names_of(CapabilitySet set) {
  std::string names;
  for (int number = 0; number < kMost; ++number) {
    if ((set & capability::set(number)) != 0) names += (names.empty() ? "" : " ") + name_of(number);
  }
  return names.empty() ? "none" : names;
}

CapabilitySet capabilities_to_keep(CapabilitySet permitted, const CapabilityUses& uses) {
  using namespace capability;
  CapabilitySet useful = 0;
  if (uses.reads_kernel) useful |= set(kPerfmon) | set(kSysPtrace) | set(kDacReadSearch);
  if (uses.reads_files) useful |= set(kDacReadSearch);
  return permitted & useful;
}

CapabilitySet capabilities_to_count(CapabilitySet permitted, const PerfTrial& may_count) {
  using namespace capability;
  const CapabilitySet keep = permitted & set(kPerfmon);
  const CapabilitySet with_admin = keep | (permitted & set(kSysAdmin));
  return with_admin != keep && !may_count(keep) && may_count(with_admin) ? with_admin : keep;
}

ThreadCapabilities own_capabilities() {
  const CapabilityState state(::cap_get_proc());
  if (!state) throw std::system_error(errno, std::generic_category(), "capget");
  return {read_set(state, CAP_EFFECTIVE), read_set(state, CAP_PERMITTED), read_set(state, CAP_INHERITABLE)};
}

CapabilitySet capabilities_to_keep(const CapabilityUses& uses) {
  return capabilities_to_keep(own_capabilities().permitted, uses);
}

CapabilitySet capabilities_to_count() {
  const ThreadCapabilities before = own_capabilities();
  const CapabilitySet keep = capabilities_to_count(before.permitted, [&](CapabilitySet effective) {
    return set_own({effective, before.permitted, before.inheritable}) && may_count_here();
  });
  set_own(before);
  return keep;
}

void raise_capabilities() {
  try {
    const ThreadCapabilities own = own_capabilities();
    (void)set_own({own.permitted, own.permitted, own.inheritable});
  } catch (const std::system_error&) {  // denied: what needs them reports that
  }
}

LayerOutcome kept(CapabilitySet keep) { return LayerOutcome::holds("keeps " + names_of(keep)); }

void add_counting(CapabilitySet counting, LayerOutcome& outcome) {
  if (!outcome.on || (counting & capability::set(capability::kSysAdmin)) == 0) return;
  outcome.detail += "; the process that opens perf events keeps " + names_of(counting);
  outcome.hint =
      "perf events need CAP_SYS_ADMIN here: grant CAP_PERFMON, and where kernel.perf_event_paranoid is above 2, "
      "`sysctl kernel.perf_event_paranoid=2`";
}

CapabilitySet capabilities_to_read(const std::vector<std::string>& files, CapabilitySet kept) {
  const CapabilitySet reads = kept & capability::set(capability::kDacReadSearch);
  if (reads == 0) return 0;
  const ThreadCapabilities before = own_capabilities();
  if (!set_own({kept & ~reads, before.permitted, before.inheritable})) return reads;
  const bool needed = std::ranges::any_of(files, [](const std::string& file) {
    return !UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) && errno == EACCES;
  });
  set_own(before);
  return needed ? reads : 0;
}

bool limit_capabilities(CapabilitySet keep) { return set_own({keep, keep, 0}); }

LayerOutcome drop_capabilities(CapabilitySet keep) {
  try {
    const ThreadCapabilities before = own_capabilities();
    keep &= before.permitted;
    // Without CAP_SETPCAP the bounding set stays. That is harmless: it matters only when a program is run, and none can
    // be.
    if ((before.permitted & capability::set(capability::kSetpcap)) != 0) {
      set_own({before.permitted, before.permitted, before.inheritable});
      for (int number = 0; number < kMost; ++number) {
        const int bound = ::cap_get_bound(number);
        if (bound < 0) break;  // the kernel has no further capabilities
        if (bound == 1 && (keep & capability::set(number)) == 0 && ::cap_drop_bound(number) != 0) {
          return failed("prctl(PR_CAPBSET_DROP)", "capset and prctl");
        }
      }
    }
    if (::cap_reset_ambient() != 0) return failed("prctl(PR_CAP_AMBIENT)", "capset and prctl");
    if (!set_own({keep, keep, 0})) return failed("capset", "capset and prctl");
  } catch (const std::system_error& error) {
    errno = error.code().value();
    return failed("capget", "capset and prctl");
  }
  return kept(keep);
}

std::optional<ThreadStatus> parse_thread_status(std::string_view text) {
  const auto inheritable = value_of(text, "CapInh", 16);
  const auto permitted = value_of(text, "CapPrm", 16);
  const auto effective = value_of(text, "CapEff", 16);
  const auto bounding = value_of(text, "CapBnd", 16);
  const auto ambient = value_of(text, "CapAmb", 16);
  const auto no_new_privs = value_of(text, "NoNewPrivs", 10);
  const auto seccomp = value_of(text, "Seccomp", 10);
  if (!inheritable || !permitted || !effective || !bounding || !ambient || !no_new_privs || !seccomp)
    return std::nullopt;
  return ThreadStatus{
      *inheritable, *permitted, *effective, *bounding, *ambient, *no_new_privs == 1, static_cast<int>(*seccomp)};
}

std::vector<ThreadStatus> own_threads() {
  std::vector<ThreadStatus> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
       entry.increment(error)) {
    std::ifstream file(entry->path() / "status", std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.empty()) continue;  // it has ended
    if (const auto status = parse_thread_status(text)) threads.push_back(*status);
  }
  return threads;
}

}  // namespace igpu::exporter
