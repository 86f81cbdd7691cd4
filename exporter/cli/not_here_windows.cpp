// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/flags.h"
#include "cli/options.h"
#include "server/push/address.h"
#include "server/serve_stages.h"

// What the program for Windows does not have (docs/windows.md), so that asking for it gets a clear answer.
namespace igpu::exporter {
namespace {

[[noreturn]] void not_here(const std::string& what) {
  throw std::runtime_error(what + " is not available on Windows (docs/windows.md)");
}

constexpr char kNoPush[] = "pushing is not available on Windows (docs/windows.md); let Prometheus scrape this machine";

}  // namespace

int top_command(const Options& /*options*/) { not_here("top"); }
int intel_gpu_top(const Options& /*options*/) { not_here("intel_gpu_top"); }
int level_zero(const Options& /*options*/) { not_here("level-zero"); }
int trace(const Options& /*options*/) { not_here("trace"); }
int flights(const Options& /*options*/) { not_here("flights"); }

UniqueFd start_flight_writer(const Options& options, const Sandbox& /*sandbox*/) {
  if (!options.flight_directory.empty()) not_here("--flight.directory");
  return {};
}
std::unique_ptr<FlightKeeper> start_flight_keeper(const Options& /*options*/,
                                                  const std::shared_ptr<const Flights>& /*flights*/,
                                                  UniqueFd /*writer*/, Log& /*log*/) {
  return nullptr;
}
void FlightKeeper::start() {}  // there is none

PushAddress parse_otlp_address(std::string_view /*url*/) { throw std::invalid_argument(kNoPush); }
PushAddress parse_mqtt_address(std::string_view /*url*/) { throw std::invalid_argument(kNoPush); }

std::vector<PushReceiver> start_push(const PushOptions& /*options*/, const Sandbox& /*sandbox*/,
                                     const Environment& /*environment*/) {
  return {};
}
PushTargets wait_until_started(std::vector<PushReceiver> /*receivers*/) { return {}; }
std::unique_ptr<Pusher> prepare_pusher(PushTargets /*targets*/, Nanoseconds /*interval*/, PushMetrics& /*metrics*/,
                                       ReadPage /*read*/, Log& /*log*/) {
  return nullptr;
}
void Pusher::start() {}
Pusher::~Pusher() = default;
PushDelivery::~PushDelivery() = default;

std::vector<Command> with_commands_of_system(std::vector<Command> commands) {
  constexpr std::array<std::string_view, 5> kNotHere{"top", "intel_gpu_top", "level-zero", "trace", "flights"};
  for (Command& command : commands) {
    command.hidden = command.hidden || std::ranges::find(kNotHere, command.name) != kNotHere.end();
    if (command.name == "capture") {
      command.operands = "FILE.txt";
      command.missing = "capture needs the file to write: capture FILE.txt";
    }
  }
  const auto help = std::ranges::find_if(commands, [](const Command& one) { return one.name == "help"; });
  commands.insert(
      help,
      {.name = "service",
       .help = "service install installs a Windows service that starts at boot and runs as LocalService; "
               "flags of serve follow --. service remove uninstalls it. service allow adds a firewall "
               "rule that opens PORT (10068) to other machines; service forbid deletes it.",
       .operands = "ACTION [PORT] [-- FLAGS]",
       .least = 1,
       .most = ~std::size_t{0},
       .missing = "service install, remove, allow or forbid?",
       .run = service_command,
       .exits = {
           {"0", "Done."}, {"1", "Administrator rights are missing, or a step failed."}, {"2", "A flag is invalid."}}});
  return commands;
}

}  // namespace igpu::exporter
