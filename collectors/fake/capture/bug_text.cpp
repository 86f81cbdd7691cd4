// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/scan.h"
#include "fake/capture/bug_files.h"
#include "igpu/words.h"
#include "kernel/faults/fault_text.h"
#include "kernel/faults/kernel_records.h"

namespace igpu {
namespace {

constexpr std::string_view kLeftOut = "...";
constexpr std::string_view kNoProcess = "no process";  // of a job of the kernel

struct Range {
  std::size_t begin = 0, end = 0;
};

std::size_t behind(std::string_view text, std::string_view what) {
  const std::size_t at = text.find(what);
  return at == std::string_view::npos ? at : at + what.size();
}

// Where a part of a text is in it.
Range range_of(std::string_view text, std::string_view part) {
  const auto begin = static_cast<std::size_t>(part.data() - text.data());
  return {begin, begin + part.size()};
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

// The name of a process in a line of known form.
std::optional<Range> name_in(std::string_view text, const std::optional<FaultLine>& fault) {
  if (text.starts_with("CPU: ")) return name_in_warning(text);
  if (fault) return fault->process ? std::optional(range_of(text, fault->written_name)) : std::nullopt;
  const std::string_view said = text_behind_device(text);
  if (const std::size_t reset = said.find("] context reset due to GPU hang"); reset != std::string_view::npos)
    if (const std::size_t end = said.rfind('[', reset); end != std::string_view::npos)
      return range_of(text, said.substr(0, end));
  constexpr std::string_view kComm = "comm=\"";
  if (const std::size_t begin = behind(text, kComm); begin != std::string_view::npos)
    return Range{begin, std::max(text.rfind('"'), begin)};  // a name may hold quotation marks: up to the last one
  return std::nullopt;
}

// Behind the start of a line that names a number in brackets, as the kernel names processes.
std::optional<Range> doubtful_part(std::string_view text) {
  const std::string_view said = text_behind_device(text);
  for (std::size_t at = said.find_last_of("]>"); at != std::string_view::npos && at > 0;
       at = said.find_last_of("]>", at - 1)) {
    std::size_t digits = at;
    while (digits > 0 && is_digit(said[digits - 1])) --digits;
    if (digits == at || digits == 0) continue;
    if (said[digits - 1] == '[' || said[digits - 1] == '<') return range_of(text, said.substr(0, digits - 1));
  }
  return std::nullopt;
}

std::string replaced(std::string_view text, Range range, std::string_view by) {
  std::string out(text.substr(0, range.begin));
  return (out += by) += text.substr(range.end);
}

// Parameters whose values say something about a fault, and nothing about who runs the machine.
constexpr std::string_view kTold =
    "pcie_|i915.|xe.|drm.|drm_|pci|intel_iommu|iommu|intel_idle.|intel_pstate|mem_sleep_default|acpi|"
    "nomodeset|modeset|video=|quiet|splash|ro|rw|mitigations|nosmt|modprobe.blacklist|module_blacklist";

}  // namespace

bool is_about_device(std::string_view text) {
  constexpr std::string_view kStarts = "pci |pcieport |vfio-pci |snd_hda_intel |mei|DMAR: ";
  return capture::any_word(kStarts, [&](std::string_view start) { return text.starts_with(start); });
}

bool is_of_warning(std::string_view text) {
  constexpr std::string_view kStarts =
      "------------[ cut here|---[ end trace|WARNING: |BUG: |Modules linked in: |CPU: |Hardware name: |"
      "Workqueue: |RIP: |Code: |RSP: |RAX: |RDX: |RBP: |R10: |R13: |FS: |CS: |Call Trace|PKRU: ";
  if (capture::any_word(kStarts, [&](std::string_view start) { return text.starts_with(start); })) return true;
  // " <TASK>", " xe_guc_submit+0x10/0x20 [xe]", " ? __warn+0x1/0x2"
  return text.starts_with(" <") || text.starts_with(" </") || (text.starts_with(' ') && text.find("+0x") != text.npos);
}

bool is_about_graphics(std::string_view text) {
  constexpr std::string_view kStarts = "i915 |xe |[drm|Fence expiration time out i915-";
  return capture::any_word(kStarts, [&](std::string_view start) { return text.starts_with(start); });
}

std::string masked_log_text(std::string_view text, capture::Masks& masks) {
  KernelLogRecord record;
  record.text = text;
  const auto fault = parse_fault_line(record);
  if (const auto name = name_in(text, fault))
    return replaced(text, *name, masks.process(unescaped_log_text(text.substr(name->begin, name->end - name->begin))));
  if (fault && fault->sign == FaultSign::cat_error) return std::string(text);  // "[18]" is the kind of error
  const auto doubtful = doubtful_part(text);
  return doubtful ? replaced(text, *doubtful, kLeftOut) : std::string(text);
}

std::string masked_dump(std::string_view text, capture::Masks& masks) {
  constexpr std::string_view kNames = "Process: |Active process|Active context|GPU HANG: ";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view said = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool names = capture::any_word(kNames, [&](std::string_view start) { return said.starts_with(start); });
    const std::size_t begin = said.starts_with("GPU HANG: ") ? behind(line, ", in ") : behind(line, ": ");
    if (!names || begin == std::string_view::npos) {
      out += line;
    } else {
      // Older kernels give no number.
      std::size_t last = std::min(line.find_last_of("[<"), line.size());
      if (last < begin) last = line.size();
      if (last > begin && last < line.size() && line[last - 1] == ' ') --last;
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
  for (text = trim(text); !text.empty(); text = trim(text)) {
    std::size_t end = 0;
    for (bool quoted = false; end < text.size() && (quoted || !is_blank(text[end])); ++end)
      if (text[end] == '"') quoted = !quoted;
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    is_program = is_program || word == "--";
    const std::string_view name = word.substr(0, word.find('='));
    const bool told = !is_program && capture::any_word(kTold, [&](std::string_view known) {
      const bool is_group = known.ends_with('.') || known.ends_with('_') || known.ends_with('=');
      return is_group ? word.starts_with(known) : name == known || name.substr(0, name.find('.')) == known;
    });
    if (!out.empty()) out += ' ';
    if (told)
      out += word;
    else if (is_program || name == word)
      out += kLeftOut;
    else
      ((out += name) += '=') += kLeftOut;
  }
  return out;
}

}  // namespace igpu
