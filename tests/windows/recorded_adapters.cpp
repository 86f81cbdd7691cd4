// SPDX-License-Identifier: Apache-2.0
#include "windows/recorded_adapters.h"

#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "fake/capture/answers.h"
#include "fake/capture/asked_machine.h"
#include "view/capture_file/script.h"

namespace igpu::test {
namespace {

using capture::Answer;
using capture::AnswerKind;
using capture::question;

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

// Of a failure whose text has it.
template <class Status>
Status status_in(const std::string& text, Status otherwise) {
  const std::size_t number = text.rfind("0x");
  if (number == std::string::npos) return otherwise;
  return static_cast<Status>(std::strtoul(text.c_str() + number, nullptr, 16));
}

// The reverse of outcome_of_status(), as far as it can be undone.
NtStatus status_of(const Answer& answer) {
  if (answer.kind == AnswerKind::failure) return status_in(answer.text, NtStatus::invalid_parameter);
  if (answer.kind != AnswerKind::absent) return NtStatus::success;
  if (answer.reason == Reason::permission) return NtStatus::access_denied;
  return answer.error == ENODEV ? NtStatus::no_such_device : NtStatus::not_supported;
}

}  // namespace

void put_name(const std::string& name, char16_t* to, std::size_t size) {
  std::fill_n(to, size, u'\0');
  std::wstring wide(name.size(), L'\0');
  const int length = ::MultiByteToWideChar(CP_UTF8, 0, name.data(), static_cast<int>(name.size()), wide.data(),
                                           static_cast<int>(wide.size()));
  std::memcpy(to, wide.data(), std::min(size, static_cast<std::size_t>(length)) * sizeof *to);
}

RecordedAdapters::RecordedAdapters(std::string_view script)
    : replay_(capture::passes_of(exporter::files_of_script(script))) {}

NtStatus RecordedAdapters::ask(const std::string& question, std::size_t count, Answer& answer) {
  answer = replay_.ask(question, {});
  const NtStatus status = status_of(answer);
  return status == NtStatus::success && answer.numbers.size() < count ? NtStatus::invalid_parameter : status;
}

// A failure without a status has that of invalid data.
PdhStatus RecordedAdapters::engine_counters(std::vector<EngineCounter>& counters) {
  const Answer answer = replay_.ask(std::string(capture::kEngineCounters), {});
  if (answer.kind == AnswerKind::failure) return status_in(answer.text, static_cast<PdhStatus>(0xc0000bc6));
  if (answer.kind == AnswerKind::absent)
    return answer.reason == Reason::permission ? PdhStatus::access_denied : PdhStatus::no_counter;
  for (const std::string& text : answer.names) counters.push_back(capture::engine_counter_of(text));
  return PdhStatus::success;
}

NtStatus RecordedAdapters::list(std::vector<std::uint64_t>& luids) {
  Answer answer;
  const NtStatus status = ask(question("adapter.list", ""), 0, answer);
  luids = answer.numbers;
  return status;
}

NtStatus RecordedAdapters::open(std::uint64_t luid) {
  Answer answer;
  return ask(question("adapter.open", hexadecimal(luid)), 0, answer);
}

NtStatus RecordedAdapters::describe(std::uint64_t luid, const d3dkmt::QueryAdapterInfo& query) {
  const std::string adapter = hexadecimal(luid);
  Answer answer;
  NtStatus status = NtStatus::invalid_parameter;
  const auto asked = [&](const char* word, const std::string& about, std::size_t count) {
    status = ask(question(std::string("adapter.") + word, about), count, answer);
    return status == NtStatus::success;
  };
  const auto number = [&](std::size_t at) { return answer.numbers[at]; };
  const auto small = [&](std::size_t at) { return static_cast<std::uint32_t>(answer.numbers[at]); };
  switch (query.type) {
    case d3dkmt::kDeviceIds:
      if (auto* const to = data_of<d3dkmt::DeviceIds>(query); to && asked("facts", adapter, 6))
        *to = {0, small(0), small(1), 0, 0, small(2), 0};
      break;
    case d3dkmt::kAddress:
      if (auto* const to = data_of<d3dkmt::Address>(query); to && asked("facts", adapter, 6))
        *to = {small(3), small(4), small(5)};
      break;
    case d3dkmt::kRegistry:
      if (auto* const to = data_of<d3dkmt::Registry>(query); to && asked("facts", adapter, 6))
        put_name(answer.text, to->adapter);
      break;
    case d3dkmt::kSegmentSize:
      if (auto* const to = data_of<d3dkmt::SegmentSize>(query); to && asked("memory", adapter, 2))
        *to = {number(0), 0, number(1)};
      break;
    case d3dkmt::kNodeMetadata:
      if (auto* const to = data_of<d3dkmt::NodeMetadata>(query);
          to && asked("node", adapter + '/' + std::to_string(to->node & 0xffff), 1)) {
        to->type = small(0);
        put_name(answer.text, to->name);
      }
      break;
    case d3dkmt::kNodePerformance:
      if (auto* const to = data_of<d3dkmt::NodePerformance>(query);
          to && asked("clock", adapter + '/' + std::to_string(to->node), 2)) {
        to->hertz = number(0);
        to->max_hertz = number(1);
      }
      break;
    case d3dkmt::kPerformance:
      if (auto* const to = data_of<d3dkmt::Performance>(query); to && asked("sensors", adapter, 3)) {
        to->fan_rpm = small(0);
        to->power = small(1);
        to->deci_celsius = small(2);
      }
      break;
    default: break;
  }
  return status;
}

NtStatus RecordedAdapters::count(std::uint64_t luid, d3dkmt::QueryStatistics& query) {
  const std::string adapter = hexadecimal(luid);
  const std::string part = adapter + '/' + std::to_string(query.query);
  const std::string of_process = std::to_string(reinterpret_cast<std::uintptr_t>(query.process)) + '/' + part;
  d3dkmt::QueryStatistics::Result result;
  std::memset(&result, 0, sizeof result);
  Answer answer;
  NtStatus status = NtStatus::not_supported;
  const auto asked = [&](const char* word, const std::string& about, std::size_t count) {
    status = ask(question(word, about), count, answer);
    return status == NtStatus::success;
  };
  switch (query.type) {
    case d3dkmt::kOfAdapter:
      if (asked("adapter.counts", adapter, 2))
        result.adapter = {static_cast<std::uint32_t>(answer.numbers[1]), static_cast<std::uint32_t>(answer.numbers[0])};
      break;
    case d3dkmt::kOfNode:
      if (asked("adapter.running", part, 1)) result.node.running = static_cast<std::int64_t>(answer.numbers[0]);
      break;
    case d3dkmt::kOfSegment:
      if (asked("adapter.segment", part, 3)) {
        result.segment.limit = answer.numbers[0];
        result.segment.resident = answer.numbers[1];
        result.segment.aperture = static_cast<std::uint32_t>(answer.numbers[2]);
      }
      break;
    case d3dkmt::kOfProcessNode:
      if (asked("process.running", of_process, 1)) result.node.running = static_cast<std::int64_t>(answer.numbers[0]);
      break;
    case d3dkmt::kOfProcessSegment:
      if (asked("process.committed", of_process, 1)) result.process_segment.committed = answer.numbers[0];
      break;
    default: break;
  }
  if (status == NtStatus::success) query.result = result;
  return status;
}

}  // namespace igpu::test
