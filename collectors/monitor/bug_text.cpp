// SPDX-License-Identifier: Apache-2.0
#include "monitor/bug_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/scan.h"
#include "igpu/words.h"
#include "source/kernel_log_record.h"

namespace igpu {
namespace {

constexpr std::string_view kLeftOut = "...";
constexpr std::string_view kNoProcess = "no process";  // of a job of the kernel

struct Range {
  std::size_t begin = 0, end = 0;
};

// Where a name ends that stands in front of "[19639]" or "<19639>", the last one of the text: the name itself may hold
// brackets.
std::optional<std::size_t> end_of_name(std::string_view text, std::size_t begin) {
  const std::size_t bracket = text.find_last_of("[<");
  if (bracket == std::string_view::npos || bracket < begin) return std::nullopt;
  return bracket > begin && text[bracket - 1] == ' ' ? bracket - 1 : bracket;
}

std::optional<Range> name_behind(std::string_view text, std::size_t begin) {
  const auto end = end_of_name(text, begin);
  return end ? std::optional(Range{begin, *end}) : std::nullopt;
}

std::size_t behind(std::string_view text, std::string_view what, std::size_t from = 0) {
  const std::size_t at = text.find(what, from);
  return at == std::string_view::npos ? at : at + what.size();
}

// Behind "xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: ", or 0.
std::size_t end_of_prefix(std::string_view text) {
  std::size_t at = 0;
  for (const std::string_view driver : {"i915 ", "xe "})
    if (text.starts_with(driver)) at = behind(text, ": ");
  if (at == std::string_view::npos) return 0;
  const auto skip = [&](std::string_view word) {
    if (text.substr(at).starts_with(word)) at += word.size();
  };
  if (text.substr(at).starts_with("[drm"))
    if (const std::size_t end = behind(text, "] ", at); end != std::string_view::npos) at = end;
  skip("*ERROR* ");
  for (const std::string_view word : {"Tile", "GT"}) {
    std::size_t end = at + word.size();
    if (!text.substr(at).starts_with(word)) continue;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (text.substr(end).starts_with(": ")) at = end + 2;
  }
  return at;
}

// "PID: 42 Comm: ffmpeg Not tainted 6.12.0 #1" of a warning.
std::optional<Range> name_in_warning(std::string_view text) {
  const std::size_t begin = behind(text, " Comm: ");
  if (begin == std::string_view::npos) return std::nullopt;
  for (const std::string_view word : {" Tainted", " Not tainted", " Kdump"})
    if (const std::size_t end = text.rfind(word); end != std::string_view::npos && end >= begin)
      return Range{begin, end};
  return Range{begin, text.size()};
}

// The name of a process in a line of known form. known: whether it is one.
std::optional<Range> name_in(std::string_view text, bool& known) {
  const std::size_t message = end_of_prefix(text);
  const std::string_view said = text.substr(message);
  known = true;
  if (text.starts_with("CPU: ")) return name_in_warning(text);
  if (said.starts_with("Timedout job: ")) {
    const std::size_t flags = text.find("flags=", message);
    const std::size_t begin = flags == std::string_view::npos ? flags : behind(text, " in ", flags);
    return begin == std::string_view::npos ? std::nullopt : name_behind(text, begin);
  }
  if (said.starts_with("GPU HANG: ecode ")) {
    const std::size_t begin = behind(text, ", in ", message);
    return begin == std::string_view::npos ? std::nullopt : name_behind(text, begin);
  }
  if (said.find(" context reset due to GPU hang") != std::string_view::npos) return name_behind(text, message);
  if (said.starts_with("Fence expiration time out i915-")) {
    std::size_t at = message;
    for (int colons = 0; colons < 3 && at != std::string_view::npos; ++colons) at = behind(text, ":", at);
    return at == std::string_view::npos ? std::nullopt : name_behind(text, at);
  }
  if (said.starts_with("Engine memory CAT error")) return std::nullopt;  // "[18]" is the kind of error
  known = false;
  return std::nullopt;
}

// Behind the start of an unknown line that names a number in brackets, as the kernel names processes.
std::optional<Range> doubtful_part(std::string_view text) {
  const std::size_t begin = end_of_prefix(text);
  for (std::size_t at = text.find_last_of("]>"); at != std::string_view::npos && at > begin;
       at = text.find_last_of("]>", at - 1)) {
    std::size_t digits = at;
    while (digits > begin && is_digit(text[digits - 1])) --digits;
    if (digits == at || digits == begin) continue;
    if (text[digits - 1] == '[' || text[digits - 1] == '<') return Range{begin, digits - 1};
  }
  return std::nullopt;
}

std::string replaced(std::string_view text, Range range, std::string_view by) {
  std::string out(text.substr(0, range.begin));
  return (out += by) += text.substr(range.end);
}

// Parameters whose values say something about a fault, and nothing about who runs the machine.
constexpr std::array<std::string_view, 23> kTold{"pcie_",
                                                 "i915.",
                                                 "xe.",
                                                 "drm.",
                                                 "drm_",
                                                 "pci",
                                                 "intel_iommu",
                                                 "iommu",
                                                 "intel_idle.",
                                                 "intel_pstate",
                                                 "mem_sleep_default",
                                                 "acpi",
                                                 "nomodeset",
                                                 "modeset",
                                                 "video=",
                                                 "quiet",
                                                 "splash",
                                                 "ro",
                                                 "rw",
                                                 "mitigations",
                                                 "nosmt",
                                                 "modprobe.blacklist",
                                                 "module_blacklist"};

}  // namespace

bool is_about_device(std::string_view text) {
  constexpr std::array<std::string_view, 6> kStarts{"pci ",           "pcieport ", "vfio-pci ",
                                                    "snd_hda_intel ", "mei",       "DMAR: "};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return text.starts_with(start); });
}

bool is_of_warning(std::string_view text) {
  constexpr std::array<std::string_view, 20> kStarts{"------------[ cut here",
                                                     "---[ end trace",
                                                     "WARNING: ",
                                                     "BUG: ",
                                                     "Modules linked in: ",
                                                     "CPU: ",
                                                     "Hardware name: ",
                                                     "Workqueue: ",
                                                     "RIP: ",
                                                     "Code: ",
                                                     "RSP: ",
                                                     "RAX: ",
                                                     "RDX: ",
                                                     "RBP: ",
                                                     "R10: ",
                                                     "R13: ",
                                                     "FS: ",
                                                     "CS: ",
                                                     "Call Trace",
                                                     "PKRU: "};
  if (std::ranges::any_of(kStarts, [&](std::string_view start) { return text.starts_with(start); })) return true;
  // " <TASK>", " xe_guc_submit+0x10/0x20 [xe]", " ? __warn+0x1/0x2"
  return text.starts_with(" <") || text.starts_with(" </") || (text.starts_with(' ') && text.find("+0x") != text.npos);
}

bool is_about_graphics(std::string_view text) {
  constexpr std::array<std::string_view, 4> kStarts{"i915 ", "xe ", "[drm", "Fence expiration time out i915-"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return text.starts_with(start); });
}

std::string masked_log_text(std::string_view text, capture::Masks& masks) {
  bool known = false;
  const auto name = name_in(text, known);
  if (name && text.substr(name->begin, name->end - name->begin) == kNoProcess) return std::string(text);
  if (name)
    return replaced(text, *name, masks.process(unescaped_log_text(text.substr(name->begin, name->end - name->begin))));
  if (known) return std::string(text);
  constexpr std::string_view kComm = "comm=\"";
  if (const std::size_t begin = behind(text, kComm); begin != std::string_view::npos) {
    // A name may hold quotation marks: up to the last one.
    const std::size_t end = std::max(text.rfind('"'), begin);
    return replaced(text, {begin, end}, masks.process(unescaped_log_text(text.substr(begin, end - begin))));
  }
  if (const auto doubtful = doubtful_part(text)) return replaced(text, *doubtful, kLeftOut);
  return std::string(text);
}

std::string masked_dump(std::string_view text, capture::Masks& masks) {
  constexpr std::array<std::string_view, 4> kNames{"Process: ", "Active process", "Active context", "GPU HANG: "};
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view said = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool names = std::ranges::any_of(kNames, [&](std::string_view start) { return said.starts_with(start); });
    const std::size_t begin = said.starts_with("GPU HANG: ") ? behind(line, ", in ") : behind(line, ": ");
    if (!names || begin == std::string_view::npos) {
      out += line;
    } else {
      // Older kernels give no number.
      const std::size_t last = end_of_name(line, begin).value_or(line.size());
      const std::string_view name = line.substr(begin, last - begin);
      out += replaced(line, {begin, last}, name == kNoProcess ? std::string(name) : masks.process(name));
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string masked_command_line(std::string_view text) {
  std::string out;
  bool is_program = false;  // behind "--" are arguments of init
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
    text.remove_prefix(begin);
    std::size_t end = 0;
    for (bool quoted = false; end < text.size(); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (!quoted && (text[end] == ' ' || text[end] == '\t' || text[end] == '\n')) break;
    }
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    if (word.empty()) continue;
    is_program = is_program || word == "--";
    const std::size_t value = word.find('=');
    const bool is_flag = value == std::string_view::npos;
    const bool told = !is_program && std::ranges::any_of(kTold, [&](std::string_view known) {
      const bool is_group = known.ends_with('.') || known.ends_with('_') || known.ends_with('=');
      return is_group ? word.starts_with(known)
                      : word.substr(0, value).substr(0, word.find('.')) == known || word.substr(0, value) == known;
    });
    if (!out.empty()) out += ' ';
    if (told)
      out += word;
    else if (is_flag || is_program)
      out += kLeftOut;
    else
      (out += word.substr(0, value + 1)) += kLeftOut;
  }
  return out;
}

}  // namespace igpu
