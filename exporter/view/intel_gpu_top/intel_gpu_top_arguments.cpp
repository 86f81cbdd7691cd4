// SPDX-License-Identifier: Apache-2.0
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"

#include <getopt.h>

#include <algorithm>
#include <cstdlib>

#include "cli/flags.h"
#include "cli/options.h"

namespace igpu::exporter {
namespace {

using Output = IntelGpuTopArguments::Output;

long number(const Setting& given) { return std::strtol(given.text().c_str(), nullptr, 10); }

// Microseconds in 32 bits, so that -1 is 4295 s: callers use that for a single record.
Nanoseconds period(const Setting& given) {
  return std::chrono::microseconds(static_cast<std::uint32_t>(static_cast<std::uint64_t>(number(given)) * 1000));
}

bool is_of_older(std::string_view name) { return name != "p" && name != "c" && name != "n"; }

std::string own_name() { return std::string(kIntelGpuTop); }

}  // namespace

void add_intel_gpu_top_flags(std::vector<CommandFlag>& flags) {
  using To = Options&;
  using Given = const Setting&;
  const AddFlag add{flags, {kIntelGpuTop}};
  const auto output = [](Output chosen) { return [chosen](To to, Given) { to.intel_gpu_top.output = chosen; }; };
  add("J", "", "", "Print JSON. Of -J, -c and -l the last one counts.", output(Output::json));
  add("c", "", "", "Print CSV.", output(Output::csv));
  add("l", "", "", "Print lines of text.", output(Output::text));
  add("o", "FILE", "", "Write to this file; - is standard output. Without -J and -c: as -l.",
      [](To to, Given given) { to.intel_gpu_top.file = given.text(); });
  add("s", "MS", "1000", "Milliseconds between records. The first one is printed at once.",
      [](To to, Given given) { to.intel_gpu_top.period = period(given); });
  add("n", "N", "", "Number of records.",
      [](To to, Given given) { to.intel_gpu_top.records = static_cast<std::uint64_t>(std::max(number(given), 0L)); });
  add("d", "FILTER", "",
      "The GPU: drm:/dev/dri/cardN, drm:/dev/dri/renderDN, sys:/sys/..., pci:slot=ADDRESS or "
      "pci:vendor=8086,device=56a0,card=0. Without it the first card, otherwise the integrated GPU.",
      [](To to, Given given) { to.intel_gpu_top.filter = given.text(); });
  add("L", "", "", "List the GPUs, with a filter for each.", [](To to, Given) { to.intel_gpu_top.list = true; });
  add("p", "", "", "Engines instead of classes of engines; frequency and RC6 of each GT.",
      [](To to, Given) { to.intel_gpu_top.layout.physical = true; });
  add("m", "", "", "Accepted: top shows memory in any case.", [](To, Given) {});
}

std::string read_intel_gpu_top_arguments(Options& options, const char* layout) {
  IntelGpuTopArguments& to = options.intel_gpu_top;
  if (layout != nullptr && *layout != '\0') {
    if (std::string_view(layout) != "1.27") return "IGT_LAYOUT can only be 1.27\n";
    to.layout.older = true;
  }
  std::string letters = "h";
  std::vector<const CommandFlag*> known;
  for (const CommandFlag& flag : all_flags()) {
    if (!flag.is_only_for(kIntelGpuTop) || (to.layout.older && !is_of_older(flag.name))) continue;
    known.push_back(&flag);
    letters += flag.name + (flag.is_switch() ? "" : ":");
  }

  std::vector<std::string> words = options.operands;
  to.help = std::ranges::find(words, "--help") != words.end();  // as of every other command
  if (to.help) return {};
  words.insert(words.begin(), own_name());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // As the original: flags may be joined, stand behind other words, and have their value in the same word.
  ::optind = 0;  // glibc: start over
  ::opterr = 0;
  for (int letter = 0; (letter = ::getopt(static_cast<int>(words.size()), pointers.data(), letters.c_str())) != -1;) {
    const auto found = std::ranges::find_if(
        known, [&](const CommandFlag* flag) { return flag->name.front() == static_cast<char>(letter); });
    if (letter == 'h') {
      to.help = true;
      return {};
    }
    if (found == known.end()) {
      const auto wrong = static_cast<char>(::optopt);
      const bool lacks_value = letters.find(std::string{wrong, ':'}) != std::string::npos;
      return own_name() + ": " + (lacks_value ? "option requires an argument" : "invalid option") + " -- '" + wrong +
             "'\nInvalid option " + wrong + "!\n";
    }
    (*found)->take(options, {{::optarg != nullptr ? ::optarg : ""}, (*found)->dashed(), *found});
  }
  return {};
}

void add_command_of_name(std::string_view program, std::vector<std::string>& arguments) {
  if (program.substr(program.rfind('/') + 1) == kIntelGpuTop) arguments.insert(arguments.begin(), own_name());
}

}  // namespace igpu::exporter
