// SPDX-License-Identifier: Apache-2.0
//
// The library without the program. Both print what /metrics would say:
//
//   windows_page --simulate PROFILE           the second scrape of a simulated machine
//   windows_page --gdi32 LIBRARY [SCRAPES [PDH]]
//
// The latter are scrapes, ten seconds apart, of the adapters behind that library; performance counters are behind the
// same one or another. This one prints a capture:
//
//   windows_page --capture LIBRARY SCRAPES
//
// and this one fails if scrapes leave handles open, or if one of them costs more CPU time than this. Meanwhile so many
// processes of this program wait (windows_page --wait PID) for its end:
//
//   windows_page --leaks LIBRARY SCRAPES [PROCESSES MILLISECONDS]
//
// If FAKE_GDI32 names a capture, processes are those of the capture.
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake/capture/asked_machine.h"
#include "fake/capture/passes.h"
#include "igpu/capture.h"
#include "igpu/monitor.h"
#include "machine/gpu_adapters.h"
#include "run/machine_parts.h"
#include "support/fake_clock.h"
#include "view/capture_file/script.h"
#include "view/format/text_writer.h"

namespace {

constexpr unsigned kStep = 10'000;  // milliseconds

class StderrLog final : public igpu::Log {
 public:
  void write(igpu::LogLevel, std::string_view message, std::initializer_list<igpu::LogField>) override {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
  }
};

// Processes of a capture, and adapters behind a library.
class RecordedProcesses final : public igpu::GpuAdapters {
 public:
  RecordedProcesses(std::unique_ptr<igpu::GpuAdapters> adapters, std::string_view script)
      : adapters_(std::move(adapters)), replay_(igpu::capture::passes_of(igpu::exporter::files_of_script(script))) {}
  void next_scrape() { replay_.begin_pass(); }
  igpu::Reading<std::vector<igpu::AdapterFacts>> list() override { return adapters_->list(); }
  std::shared_ptr<igpu::GpuAdapter> open(std::uint64_t luid) override { return adapters_->open(luid); }
  igpu::Reading<igpu::AdapterProcesses> processes() override { return recorded_->processes(); }
  igpu::EngineCounters* engine_counters() override { return adapters_->engine_counters(); }

 private:
  std::unique_ptr<igpu::GpuAdapters> adapters_;
  igpu::capture::Replay replay_;
  std::unique_ptr<igpu::GpuAdapters> recorded_ = igpu::capture::asked_adapters(replay_, nullptr);
};

std::string script() {
  const char* const path = std::getenv("FAKE_GDI32");
  std::ifstream file(path ? path : "", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The real machine, with the adapters behind a library and with a clock that this program moves.
class ScriptedParts final : public igpu::MachineParts {
 public:
  ScriptedParts(const igpu::MonitorOptions& options, const igpu::GpuLibraries& libraries)
      : real_(igpu::make_machine_parts(options, nullptr)),
        adapters_(igpu::system_gpu_adapters(libraries)),
        machine_{real_->machine().sys,        real_->machine().proc, real_->machine().dev,
                 real_->machine().perf,       real_->machine().drm,  clock,
                 real_->machine().privileges, real_->machine().names} {
    if (const std::string text = script(); igpu::exporter::is_script(text)) {
      auto recorded = std::make_unique<RecordedProcesses>(std::move(adapters_), text);
      recorded_ = recorded.get();
      adapters_ = std::move(recorded);
    }
    machine_.adapters = adapters_.get();
  }
  igpu::Machine& machine() override { return machine_; }
  void next_scrape() {
    clock.advance(std::chrono::milliseconds(kStep));
    if (recorded_) recorded_->next_scrape();
  }

  igpu::test::FakeClock clock;

 private:
  std::shared_ptr<igpu::MachineParts> real_;
  std::unique_ptr<igpu::GpuAdapters> adapters_;
  RecordedProcesses* recorded_ = nullptr;
  igpu::Machine machine_;
};

// A function of the tests' own gdi32; Wine's has none.
template <class F>
F function(const std::string& library, const char* name) {
  F found = nullptr;
  const HMODULE module = ::LoadLibraryA(library.c_str());
  const FARPROC address = module ? ::GetProcAddress(module, name) : nullptr;
  std::memcpy(&found, &address, sizeof found);
  return found;
}

std::string text_of(const igpu::ScrapeResult& result) {
  std::string page;
  igpu::exporter::write_prometheus_text(igpu::PageView(result.lists()), page);
  return page;
}

void print(const igpu::ScrapeResult& result) {
  const std::string page = text_of(result);
  (void)std::fwrite(page.data(), 1, page.size(), stdout);
}

void simulate(const std::string& profile) {
  StderrLog log;
  igpu::MonitorOptions options;
  options.simulate = profile;
  igpu::Monitor monitor(options, log);
  (void)monitor.scrape({});
  print(*monitor.scrape({}));
}

// Ten seconds pass in the machine and in the library.
class Time {
 public:
  Time(const std::string& library, std::shared_ptr<ScriptedParts> parts)
      : parts_(std::move(parts)),
        advance_(function<void (*)(unsigned)>(library, "fake_advance")),
        next_scrape_(function<void (*)()>(library, "fake_next_scrape")) {}
  void pass() const {
    parts_->next_scrape();
    if (advance_) advance_(kStep);
    if (next_scrape_) next_scrape_();
  }

 private:
  const std::shared_ptr<ScriptedParts> parts_;
  void (*const advance_)(unsigned);
  void (*const next_scrape_)();
};

igpu::GpuLibraries all_in(const std::string& library) { return {library, library}; }

void write_capture(const std::string& library, unsigned scrapes) {
  StderrLog log;
  const igpu::MonitorOptions options;
  const auto parts = std::make_shared<ScriptedParts>(options, all_in(library));
  const Time time(library, parts);
  const igpu::CaptureOutcome outcome = igpu::capture_of(
      parts, options, {.passes = scrapes + 1}, [&] { time.pass(); }, log);
  if (!outcome.differences.empty()) throw std::runtime_error("served again, differs: " + outcome.differences.front());
  const std::string text = igpu::exporter::script_of(outcome.files);
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
}

void show_adapters(const igpu::GpuLibraries& libraries, unsigned scrapes) {
  const auto open_handles = function<unsigned (*)()>(libraries.adapters, "fake_open_handles");
  StderrLog log;
  const igpu::MonitorOptions options;
  const auto parts = std::make_shared<ScriptedParts>(options, libraries);
  const Time time(libraries.adapters, parts);
  const auto monitor = igpu::make_monitor(parts, options, log);
  for (unsigned scrape = 1; scrape <= scrapes; ++scrape) {
    time.pass();
    std::printf("# scrape %u\n", scrape);
    print(*monitor->scrape({}));
    if (open_handles) std::printf("# open handles: %u\n", open_handles());
  }
}

// Handles of this process, as ntdll lists those of all: GetProcessHandleCount() of Wine tells none.
std::size_t own_handles() {
  struct Entry {
    ULONG pid;
    BYTE type, flags;
    USHORT handle;
    void* object;
    ULONG access;
  };
  constexpr ULONG kHandles = 16;  // SystemHandleInformation
  const auto query = function<LONG(WINAPI*)(ULONG, void*, ULONG, ULONG*)>("ntdll.dll", "NtQuerySystemInformation");
  std::vector<Entry> entries(100'000);  // the first has the number of the others
  const auto bytes = static_cast<ULONG>(entries.size() * sizeof(Entry));
  if (!query || query(kHandles, entries.data(), bytes, nullptr) != 0) throw std::runtime_error("no list of handles");
  ULONG count = 0;
  std::memcpy(&count, entries.data(), sizeof count);
  const auto* const first = reinterpret_cast<const Entry*>(reinterpret_cast<const char*>(entries.data()) + 8);
  return static_cast<std::size_t>(
      std::count_if(first, first + count, [](const Entry& entry) { return entry.pid == ::GetCurrentProcessId(); }));
}

double cpu_seconds() {
  FILETIME created, ended, in_kernel, in_user;
  if (!::GetProcessTimes(::GetCurrentProcess(), &created, &ended, &in_kernel, &in_user)) return 0;
  const auto seconds = [](const FILETIME& time) {
    return static_cast<double>((std::uint64_t{time.dwHighDateTime} << 32U) | time.dwLowDateTime) * 1e-7;
  };
  return seconds(in_kernel) + seconds(in_user);
}

void start_processes(unsigned count) {
  std::string path(MAX_PATH, '\0');
  path.resize(::GetModuleFileNameA(nullptr, path.data(), MAX_PATH));
  const std::string command = '"' + path + "\" --wait " + std::to_string(::GetCurrentProcessId());
  for (unsigned i = 0; i < count; ++i) {
    std::string line = command;  // the function may write into it
    STARTUPINFOA how{};
    how.cb = sizeof how;
    PROCESS_INFORMATION process{};
    if (!::CreateProcessA(nullptr, line.data(), nullptr, nullptr, FALSE, 0, nullptr, nullptr, &how, &process))
      throw std::runtime_error("a process cannot be started");
    ::CloseHandle(process.hThread);
    ::CloseHandle(process.hProcess);
  }
}

void wait_for_end_of(DWORD pid) {
  if (const HANDLE process = ::OpenProcess(SYNCHRONIZE, FALSE, pid)) ::WaitForSingleObject(process, INFINITE);
}

std::size_t count_of(std::string_view what, const igpu::ScrapeResult& result) {
  const std::string page = text_of(result);
  std::size_t count = 0;
  for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++count;
  return count;
}

void look_for_leaks(const std::string& library, unsigned scrapes, unsigned processes, double most) {
  start_processes(processes);
  const auto adapters = function<unsigned (*)()>(library, "fake_open_handles");
  StderrLog log;
  const igpu::MonitorOptions options;
  const auto parts = std::make_shared<ScriptedParts>(options, all_in(library));
  const Time time(library, parts);
  const auto monitor = igpu::make_monitor(parts, options, log);
  const auto scrape = [&](unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
      time.pass();
      (void)monitor->scrape({});
    }
  };
  scrape(20);
  const std::size_t series = count_of("\nintel_gpu_process_clients{", *monitor->scrape({}));
  if (series < processes) throw std::runtime_error("processes are missing: " + std::to_string(series));
  const std::size_t before = own_handles();
  const unsigned opened = adapters ? adapters() : 0;
  // Of parts of the run, the one in which other programs disturbed it least; what the fakes need is in it.
  constexpr unsigned kParts = 10;
  double cost = 1e9;
  for (unsigned part = 0; part < kParts; ++part) {
    const double cpu = cpu_seconds();
    scrape(scrapes / kParts);
    cost = std::min(cost, (cpu_seconds() - cpu) * 1000 / (scrapes / kParts));
  }
  std::printf("CPU time of a scrape, with %zu series of processes' clients: %.2f ms\n", series, cost);
  const std::size_t after = own_handles();
  std::printf("handles before and after %u scrapes: %zu %zu; of adapters: %u %u\n", scrapes, before, after, opened,
              adapters ? adapters() : 0);
  constexpr std::size_t kOfTheSystem = 4;  // threads of Windows' own come and go
  if (after > before + kOfTheSystem || (adapters && adapters() != opened)) throw std::runtime_error("handles leak");
  if (cost > most) throw std::runtime_error("a scrape costs more than it may");
}

}  // namespace

int main(int count, char** arguments) {
  (void)::_setmode(::_fileno(stdout), _O_BINARY);
  const std::string_view what = count > 2 ? arguments[1] : "";
  try {
    if (what == "--simulate") {
      simulate(arguments[2]);
    } else if (what == "--gdi32") {
      igpu::GpuLibraries libraries = all_in(arguments[2]);
      if (count > 4) libraries.engine_counters = arguments[4];
      show_adapters(libraries, count > 3 ? static_cast<unsigned>(std::stoul(arguments[3])) : 2);
    } else if (what == "--leaks" && count > 3) {
      look_for_leaks(arguments[2], static_cast<unsigned>(std::stoul(arguments[3])),
                     count > 5 ? static_cast<unsigned>(std::stoul(arguments[4])) : 0,
                     count > 5 ? std::stod(arguments[5]) : 1e9);
    } else if (what == "--wait") {
      wait_for_end_of(static_cast<DWORD>(std::stoul(arguments[2])));
    } else if (what == "--capture" && count > 3) {
      write_capture(arguments[2], static_cast<unsigned>(std::stoul(arguments[3])));
    } else {
      std::fputs(
          "windows_page --simulate PROFILE | --gdi32 LIBRARY [SCRAPES [PDH]] | "
          "--capture LIBRARY SCRAPES | --leaks LIBRARY SCRAPES [PROCESSES MILLISECONDS]\n",
          stderr);
      return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
