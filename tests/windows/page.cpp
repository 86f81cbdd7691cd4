// SPDX-License-Identifier: Apache-2.0
//
// windows_page [--simulate PROFILE]: what /metrics would say at the second scrape.
#include <fcntl.h>
#include <io.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "format/prometheus_text.h"
#include "igpu/monitor.h"

namespace {

class StderrLog final : public igpu::Log {
 public:
  void write(igpu::LogLevel, std::string_view message, std::initializer_list<igpu::LogField>) override {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
  }
};

}  // namespace

int main(int count, char** arguments) {
  (void)::_setmode(::_fileno(stdout), _O_BINARY);
  igpu::MonitorOptions options;
  if (count == 3 && std::string_view(arguments[1]) == "--simulate") options.simulate = arguments[2];
  try {
    StderrLog log;
    igpu::Monitor monitor(options, log);
    (void)monitor.scrape({});
    std::string page;
    igpu::exporter::write_prometheus_text(igpu::PageView(monitor.scrape({})->lists()), page);
    (void)std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
