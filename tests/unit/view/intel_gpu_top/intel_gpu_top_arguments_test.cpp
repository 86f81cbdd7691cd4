// SPDX-License-Identifier: Apache-2.0
// The words of intel_gpu_top, read as the original reads them.
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/options.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace std::chrono_literals;
using Output = IntelGpuTopArguments::Output;
using Words = std::vector<std::string>;

namespace {

struct Read {
  IntelGpuTopArguments arguments;
  std::string error;
};

Read read(Words words, const char* layout = nullptr) {
  Options options;
  options.operands = std::move(words);
  std::string error = read_intel_gpu_top_arguments(options, layout);
  return {options.intel_gpu_top, std::move(error)};
}

}  // namespace

TEST_SUITE_BEGIN("intel_gpu_top_arguments");

TEST_CASE("the calls of known programs") {
  const Read frigate = read({"-J", "-o", "-", "-s", "1000", "-d", "drm:/dev/dri/card0"});
  CHECK(frigate.error.empty());
  CHECK(frigate.arguments.output == Output::json);
  CHECK(frigate.arguments.file == "-");
  CHECK(frigate.arguments.period == 1s);
  CHECK(frigate.arguments.filter == "drm:/dev/dri/card0");
  CHECK(frigate.arguments.records == 0);
  const Read beszel = read({"-s", "3300", "-l"});
  CHECK(beszel.arguments.output == Output::text);
  CHECK(beszel.arguments.period == 3300ms);
  const Read bar = read({"-J", "-n2"});
  CHECK(bar.arguments.records == 2);
  const Read list = read({"-L"});
  CHECK(list.arguments.list);
}

TEST_CASE("flags may be joined and stand anywhere; of -J, -c and -l the last one counts; other words are ignored") {
  CHECK(read({"-pJs16"}).arguments.layout.physical);
  CHECK(read({"-pJs16"}).arguments.period == 16ms);
  CHECK(read({"-J", "-l"}).arguments.output == Output::text);
  CHECK(read({"-l", "-c"}).arguments.output == Output::csv);
  CHECK(read({"-l", "1", "", "word"}).error.empty());
  CHECK(read({"word", "-J"}).arguments.output == Output::json);
  CHECK(read({"-m"}).error.empty());
  CHECK(read({}).arguments.output == Output::none);
  CHECK(read({"--", "-J"}).arguments.output == Output::none);
  CHECK(read({"-J", "-h", "-x"}).arguments.help);
  CHECK(read({"--help"}).arguments.help);
}

TEST_CASE("a period is microseconds in 32 bits, unchecked") {
  CHECK(read({"-s", "0"}).arguments.period == 0ms);
  CHECK(read({"-s", "soon"}).arguments.period == 0ms);
  CHECK(read({"-s", "1e9"}).arguments.period == 1ms);
  CHECK(read({"-s", "-1"}).arguments.period == std::chrono::microseconds(4294966296));
  CHECK(read({"-s", "4294968"}).arguments.period == 704us);
  CHECK(read({"-s", "999999999999999999999999"}).error.empty());
  CHECK(read({"-n", "-3"}).arguments.records == 0);
  CHECK(read({"-n", "999999999999999999999999"}).arguments.records > 1'000'000);
}

TEST_CASE("an invalid flag has getopt's line and the original's") {
  CHECK(read({"-x"}).error == "intel_gpu_top: invalid option -- 'x'\nInvalid option x!\n");
  CHECK(read({"-J", "-s"}).error == "intel_gpu_top: option requires an argument -- 's'\nInvalid option s!\n");
  CHECK(read({"--version"}).error == "intel_gpu_top: invalid option -- '-'\nInvalid option -!\n");
}

TEST_CASE("igt 1.27 has no -p, -c and -n") {
  CHECK(read({"-J"}, "1.27").arguments.layout.older);
  CHECK_FALSE(read({"-J"}, "").arguments.layout.older);
  for (const char* flag : {"-p", "-c", "-n2"}) CHECK_FALSE(read({flag}, "1.27").error.empty());
  CHECK(read({"-J"}, "1.28").error == "IGT_LAYOUT can only be 1.27\n");
}

TEST_CASE("the command line leaves all words after the command to it, and takes the settings before it") {
  CommandLine line =
      parse_command_line({"--simulate=arc-a770", "intel_gpu_top", "-J", "-s", "-1", "-n2", "stats", "--", "-x", ""});
  CHECK(line.command->name == "intel_gpu_top");
  const Options options = options_from(line, [](const char* name) -> const char* {
    return std::string_view(name) == "INTEL_GPU_EXPORTER_S" ? "7" : nullptr;
  });
  CHECK(options.monitor.simulate == "arc-a770");
  CHECK(options.operands == Words{"-J", "-s", "-1", "-n2", "stats", "--", "-x", ""});
  CHECK(parse_command_line({"intel_gpu_top"}).operands.empty());
  CHECK_FALSE(parse_command_line({"intel_gpu_top", "--help"}).help);
  CHECK(parse_command_line({"help", "intel_gpu_top"}).command->name == "help");
}

TEST_CASE("the name by which the program is started chooses the command") {
  const auto words_of = [](std::string_view program) {
    Words words{"-J"};
    add_command_of_name(program, words);
    return words;
  };
  CHECK(words_of("intel_gpu_top") == Words{"intel_gpu_top", "-J"});
  CHECK(words_of("/usr/lib/intel-gpu-exporter/bin/intel_gpu_top") == Words{"intel_gpu_top", "-J"});
  CHECK(words_of("/usr/bin/intel-gpu-exporter") == Words{"-J"});
  CHECK(words_of("/intel_gpu_top/intel-gpu-exporter") == Words{"-J"});
}

TEST_SUITE_END();
