// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "platform/windows_headers.h"
#include "server/sandbox/sandbox.h"

// Windows has no filter of system calls and no rules for files of one thread. What it has belongs to the whole process:
// privileges that are removed for good, mitigation policies, and a job without room for another process.
namespace igpu::exporter {
namespace {

LayerOutcome failed(const char* what) {
  return LayerOutcome::missing(std::string(what) + ": " + windows_error_text(::GetLastError()), "please report this");
}

// Error reporting writes the memory of a program that crashes.
LayerOutcome forbid_crash_reports() {
  (void)::SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
  return (::GetErrorMode() & SEM_NOGPFAULTERRORBOX) != 0 ? LayerOutcome::holds() : failed("SetErrorMode");
}

// All but the one that every path needs, SeChangeNotifyPrivilege.
LayerOutcome remove_privileges() {
  HANDLE opened = nullptr;
  if (!::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY | TOKEN_ADJUST_PRIVILEGES, &opened))
    return failed("OpenProcessToken");
  const UniqueHandle token(opened);
  LUID needed{};
  (void)::LookupPrivilegeValueW(nullptr, L"SeChangeNotifyPrivilege", &needed);
  const auto read = [&] {
    DWORD size = 0;
    (void)::GetTokenInformation(opened, TokenPrivileges, nullptr, 0, &size);
    std::vector<LUID_AND_ATTRIBUTES> storage(size / sizeof(LUID_AND_ATTRIBUTES) + 2);
    if (!::GetTokenInformation(opened, TokenPrivileges, storage.data(), size, &size)) storage.clear();
    return storage;
  };
  const auto others = [&](std::vector<LUID_AND_ATTRIBUTES>& storage) {
    auto* const privileges = reinterpret_cast<TOKEN_PRIVILEGES*>(storage.data());
    std::size_t count = 0;
    for (DWORD i = 0; i < privileges->PrivilegeCount; ++i) {
      LUID_AND_ATTRIBUTES& privilege = privileges->Privileges[i];
      if (privilege.Luid.LowPart == needed.LowPart && privilege.Luid.HighPart == needed.HighPart) continue;
      privilege.Attributes = SE_PRIVILEGE_REMOVED;
      ++count;
    }
    return count;
  };
  std::vector<LUID_AND_ATTRIBUTES> all = read();
  if (all.empty()) return failed("GetTokenInformation");
  if (others(all) > 0 &&
      !::AdjustTokenPrivileges(opened, FALSE, reinterpret_cast<TOKEN_PRIVILEGES*>(all.data()), 0, nullptr, nullptr)) {
    return failed("AdjustTokenPrivileges");
  }
  std::vector<LUID_AND_ATTRIBUTES> left = read();
  const std::size_t kept = left.empty() ? 0 : others(left);
  if (kept == 0) return LayerOutcome::holds();
  return LayerOutcome::missing(std::to_string(kept) + " privileges stay", "start it as the user LocalService");
}

LayerOutcome forbid_child_processes() {
  const HANDLE job = ::CreateJobObjectW(nullptr, nullptr);  // stays open, as the process in it does
  if (job == nullptr) return failed("CreateJobObject");
  JOBOBJECT_BASIC_LIMIT_INFORMATION limits{};
  limits.LimitFlags = JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
  limits.ActiveProcessLimit = 1;
  if (!::SetInformationJobObject(job, JobObjectBasicLimitInformation, &limits, sizeof limits))
    return failed("SetInformationJobObject");
  if (!::AssignProcessToJobObject(job, ::GetCurrentProcess())) return failed("AssignProcessToJobObject");
  JOBOBJECT_BASIC_LIMIT_INFORMATION now{};
  const bool on = ::QueryInformationJobObject(job, JobObjectBasicLimitInformation, &now, sizeof now, nullptr) != 0 &&
                  (now.LimitFlags & JOB_OBJECT_LIMIT_ACTIVE_PROCESS) != 0 && now.ActiveProcessLimit == 1;
  return on ? LayerOutcome::holds() : LayerOutcome::missing("the job has no limit", "please report this");
}

// Sets one policy, whose first word is `flags`, and reads it back. Not imported: systems before Windows 8 and other
// systems that run Windows programs have no such function.
bool set_policy(PROCESS_MITIGATION_POLICY policy, DWORD flags) {
  using Set = BOOL(WINAPI*)(PROCESS_MITIGATION_POLICY, PVOID, SIZE_T);
  using Get = BOOL(WINAPI*)(HANDLE, PROCESS_MITIGATION_POLICY, PVOID, SIZE_T);
  const HMODULE kernel = ::GetModuleHandleW(L"kernel32.dll");
  const auto function = [&](const char* name) { return reinterpret_cast<void*>(::GetProcAddress(kernel, name)); };
  const auto set = reinterpret_cast<Set>(function("SetProcessMitigationPolicy"));
  const auto get = reinterpret_cast<Get>(function("GetProcessMitigationPolicy"));
  DWORD now = 0;
  return set != nullptr && get != nullptr && set(policy, &flags, sizeof flags) &&
         get(::GetCurrentProcess(), policy, &now, sizeof now) && (now & flags) == flags;
}

// As winnt.h defines the policies' bits.
LayerOutcome set_mitigations() {
  struct Policy {
    PROCESS_MITIGATION_POLICY policy;
    DWORD flags;
    const char* name;
  };
  constexpr Policy kPolicies[] = {
      {ProcessDynamicCodePolicy, 1U, "dynamic code"},                // ProhibitDynamicCode
      {ProcessExtensionPointDisablePolicy, 1U, "extension points"},  // DisableExtensionPoints
      {ProcessImageLoadPolicy, 7U, "image load"},  // NoRemoteImages, NoLowMandatoryLabelImages, PreferSystem32Images
  };
  std::string missing;
  for (const Policy& policy : kPolicies) {
    if (!set_policy(policy.policy, policy.flags)) missing += (missing.empty() ? "" : ", ") + std::string(policy.name);
  }
  if (missing.empty()) return LayerOutcome::holds();
  return LayerOutcome::missing("not set: " + missing, "Windows 10 1809 or later has them");
}

}  // namespace

Sandbox::Sandbox(SandboxPlan plan) : plan_(std::move(plan)) {
  outcomes_.fill(LayerOutcome::missing(plan_.on ? "not reached" : "turned off by --no-sandbox", {}));
}

void Sandbox::keep_readable(const std::vector<std::string>& /*files*/) {}

void Sandbox::protect_memory() {
  if (plan_.on) at(Layer::core_dumps) = forbid_crash_reports();
}

std::optional<int> Sandbox::start_event_opener(const OpenSysfs& /*open*/) {
  return std::nullopt;  // there are no perf events
}

void Sandbox::drop_privileges() {
  if (plan_.on) at(Layer::privileges) = remove_privileges();
}

void Sandbox::confine_clients() {
  if (plan_.on) at(Layer::child_processes) = forbid_child_processes();
}

void Sandbox::filter_system_calls() {
  if (plan_.on) at(Layer::mitigations) = set_mitigations();
}

bool Sandbox::keeps_files() const { return false; }

void Sandbox::report(Log& log) const {
  if (!plan_.on) return report_off(log);
  log.write(LogLevel::info, "sandbox", {{"on", layers_on(outcomes_)}});
  for (const Layer layer : kLayers) report_missing(layer, outcome(layer), LogLevel::warn, log);
}

// In this process: the command that asks only prints afterwards, which all of them allow.
SandboxOutcomes try_sandbox(const SandboxPlan& plan) {
  Sandbox sandbox(plan);
  sandbox.protect_memory();
  sandbox.drop_privileges();
  sandbox.confine_clients();
  sandbox.filter_system_calls();
  return sandbox.outcomes();
}

void raise_capabilities() {}

std::vector<std::string> folders_of(const std::string& file) {
  if (file.empty()) return {};
  std::error_code error;
  const std::filesystem::path named = std::filesystem::absolute(file, error);
  return error ? std::vector<std::string>() : std::vector<std::string>{named.parent_path().string()};
}

}  // namespace igpu::exporter
