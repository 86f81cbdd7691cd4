// SPDX-License-Identifier: Apache-2.0
//
// The library without the program. Both print what /metrics would say:
//
//   windows_page --simulate PROFILE           the second scrape of a simulated machine
//   windows_page --gdi32 LIBRARY [SCRAPES [PDH [ZE_LOADER]]]
//       scrapes, ten seconds apart, of the adapters behind that library; performance counters and Sysman are behind the
//       same one or others. --sysman instead of --gdi32: with --collector.sysman
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "format/prometheus_text.h"
#include "igpu/monitor.h"
#include "machine/gpu_adapters.h"
#include "monitor/machine_parts.h"
#include "support/fake_clock.h"

namespace {

constexpr unsigned kStep = 10'000;  // milliseconds

class StderrLog final : public igpu::Log {
 public:
  void write(igpu::LogLevel, std::string_view message, std::initializer_list<igpu::LogField>) override {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
  }
};

// The real machine, with the adapters behind a library and with a clock that this program moves.
class ScriptedParts final : public igpu::MachineParts {
 public:
  ScriptedParts(const igpu::MonitorOptions& options, const igpu::GpuLibraries& libraries)
      : real_(igpu::make_machine_parts(options, nullptr)),
        adapters_(igpu::system_gpu_adapters(libraries)),
        machine_{real_->machine().sys,        real_->machine().proc, real_->machine().dev,
                 real_->machine().perf,       real_->machine().drm,  clock,
                 real_->machine().privileges, real_->machine().names} {
    machine_.adapters = adapters_.get();
  }
  igpu::Machine& machine() override { return machine_; }

  igpu::test::FakeClock clock;

 private:
  std::shared_ptr<igpu::MachineParts> real_;
  std::unique_ptr<igpu::GpuAdapters> adapters_;
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

void print(const igpu::ScrapeResult& result) {
  std::string page;
  igpu::exporter::write_prometheus_text(igpu::PageView(result.lists()), page);
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

void show_adapters(const igpu::GpuLibraries& libraries, unsigned scrapes, bool sysman) {
  const std::string& library = libraries.adapters;
  const auto advance = function<void (*)(unsigned)>(library, "fake_advance");
  const auto next_scrape = function<void (*)()>(library, "fake_next_scrape");
  const auto open_handles = function<unsigned (*)()>(library, "fake_open_handles");
  StderrLog log;
  igpu::MonitorOptions options;
  if (sysman) options.collector_options["collector.sysman"] = {"true"};
  const auto parts = std::make_shared<ScriptedParts>(options, libraries);
  const auto monitor = igpu::make_monitor(parts, options, log);
  for (unsigned scrape = 1; scrape <= scrapes; ++scrape) {
    parts->clock.advance(std::chrono::milliseconds(kStep));
    if (advance) advance(kStep);
    if (next_scrape) next_scrape();
    std::printf("# scrape %u\n", scrape);
    print(*monitor->scrape({}));
    if (open_handles) std::printf("# open handles: %u\n", open_handles());
  }
}

}  // namespace

int main(int count, char** arguments) {
  (void)::_setmode(::_fileno(stdout), _O_BINARY);
  const std::string_view what = count > 2 ? arguments[1] : "";
  try {
    if (what == "--simulate") {
      simulate(arguments[2]);
    } else if (what == "--gdi32" || what == "--sysman") {
      const std::string library = arguments[2];
      show_adapters({library, count > 4 ? arguments[4] : library, count > 5 ? arguments[5] : library},
                    count > 3 ? static_cast<unsigned>(std::stoul(arguments[3])) : 2, what == "--sysman");
    } else {
      std::fputs("windows_page --simulate PROFILE | --gdi32|--sysman LIBRARY [SCRAPES [PDH [ZE_LOADER]]]\n", stderr);
      return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
