// SPDX-License-Identifier: Apache-2.0
#include "cli/level_zero_arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "cli/usage_error.h"
#include "text/nearest.h"

namespace igpu::exporter {
namespace {

struct Flag {
  std::string_view name, actions;
  std::string LevelZeroArguments::*text;
};

constexpr std::array<Flag, 5> kTextFlags = {{{"--csv", "run", &LevelZeroArguments::csv},
                                             {"--report", "run", &LevelZeroArguments::report},
                                             {"--log", "run", &LevelZeroArguments::log},
                                             {"--html", "report", &LevelZeroArguments::html},
                                             {"--path.level-zero", "run list clean", &LevelZeroArguments::folder}}};

const std::vector<std::string> kActions = {"run", "list", "report", "csv", "clean", "install"};

[[noreturn]] void refuse(const std::string& text) {
  throw UsageError("level-zero: " + text + " (see level-zero --help)");
}

bool belongs(std::string_view actions, std::string_view action) {
  return (" " + std::string(actions) + " ").find(" " + std::string(action) + " ") != std::string::npos;
}

// Takes the value of `name` from "--name=value" or from the next argument.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool more() const { return at_ < words_.size(); }
  std::string next() { return words_[at_++]; }
  std::vector<std::string> rest() { return {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end()}; }

 private:
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
};

std::string value_of(const std::string& word, std::size_t equals, Words& words) {
  if (equals != std::string::npos) return word.substr(equals + 1);
  if (!words.more()) refuse(word + ": a value is missing");
  return words.next();
}

std::uint32_t frames(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 16)
    refuse("--stacks: \"" + text + "\" is not a number from 1 to 16");
  return number;
}

bool take_flag(const std::string& word, Words& words, LevelZeroArguments& out) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  for (const Flag& flag : kTextFlags) {
    if (flag.name != name || !belongs(flag.actions, out.action)) continue;
    out.*flag.text = value_of(word, equals, words);
    if ((out.*flag.text).empty()) refuse(name + ": a value is missing");
    return true;
  }
  if (out.action == "run" && name == "--stacks") {
    out.stacks = frames(value_of(word, equals, words));
    return true;
  }
  if (out.action == "run" && word == "--fail-on-leak") return out.fail_on_leak = true;
  if (out.action == "report" && word == "--calls") return out.calls = true;
  return false;
}

void check(const LevelZeroArguments& arguments) {
  if (arguments.action == "run" && arguments.program.empty()) refuse("run: which program?");
  if (arguments.action == "report" && arguments.files.empty()) refuse("report: which CSV, log or page?");
  if (arguments.action == "csv" && (arguments.files.empty() || arguments.files.size() > 2))
    refuse("csv: one log, and perhaps the file to write");
  if (arguments.action == "install" && arguments.files.size() != 1) refuse("install: into which folder?");
  if ((arguments.action == "list" || arguments.action == "clean") && !arguments.files.empty())
    refuse("unexpected argument " + arguments.files.front());
}

}  // namespace

LevelZeroArguments parse_level_zero_arguments(const std::vector<std::string>& arguments) {
  LevelZeroArguments out;
  Words words(arguments);
  if (!words.more()) return out;
  out.action = words.next();
  if (out.action == "--help" || out.action == "-h" || out.action == "help") return {};
  if (std::find(kActions.begin(), kActions.end(), out.action) == kActions.end()) {
    const std::string meant = nearest(out.action, kActions);
    refuse("unknown action " + out.action + (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }
  while (words.more()) {
    const std::string word = words.next();
    if (word == "--") {
      (out.action == "run" ? out.program : out.files) = words.rest();
      break;
    }
    if (word == "--help" || word == "-h") return {};
    if (take_flag(word, words, out)) continue;
    if (word.size() > 1 && word.front() == '-') refuse("unknown flag " + word);
    if (out.action == "run") {  // the program may stand without --
      out.program = words.rest();
      out.program.insert(out.program.begin(), word);
      break;
    }
    out.files.push_back(word);
  }
  check(out);
  return out;
}

std::string level_zero_help() {
  return "Usage: intel-gpu-exporter level-zero ACTION\n\n" + std::string(level_zero_actions());
}

std::string_view level_zero_actions() {
  return "Actions:\n"
         "  run [FLAGS] -- PROGRAM ...   run a Level Zero program with the tracker;\n"
         "                               exits with the program's status\n"
         "    --csv FILE                 one line for each call, in FILE_pidN\n"
         "    --log FILE                 the same, compact, in FILE_pidN\n"
         "    --report FILE              a report; HTML if the name ends in .html\n"
         "    --stacks N                 frames of each call site, 1 to 16 (default: 1)\n"
         "    --fail-on-leak             exit with 1 if the program succeeds but leaks\n"
         "  list                         programs that run or ran with the tracker\n"
         "  report [FLAGS] FILE...       a report of CSVs, logs or pages\n"
         "    --html FILE                the same as HTML\n"
         "    --calls                    first one line for each call of a log\n"
         "  csv LOG [FILE]               a log as CSV\n"
         "  clean                        remove the pages of programs that ended\n"
         "  install DIR                  copy the tracker there, for another container\n"
         "\n"
         "  --path.level-zero DIR        where pages are, for run, list and clean\n";
}

}  // namespace igpu::exporter
