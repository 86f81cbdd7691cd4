// SPDX-License-Identifier: Apache-2.0
#include "capture/serve.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/drm_uapi.h"

namespace igpu::capture {
namespace {

// The kernel rejects a query that it does not know with it; a Failure, as from machine/ (source/drm_query.cpp).
Failure invalid(std::string_view where) {
  return {std::error_code(EINVAL, std::generic_category()), std::string(where)};
}

drm::I915QueryItem* item_of(const void* argument) {
  drm::I915Query query{};
  std::memcpy(&query, argument, sizeof(query));
  return query.num_items == 1 ? reinterpret_cast<drm::I915QueryItem*>(query.items) : nullptr;
}

Answer number_answer(std::uint64_t number) {
  Answer answer;
  answer.kind = AnswerKind::numbers;
  answer.numbers = {number};
  return answer;
}

Answer content_answer(std::uint64_t address, std::size_t size) {
  Answer answer;
  answer.kind = AnswerKind::content;
  answer.text.assign(reinterpret_cast<const char*>(address), size);
  return answer;
}

}  // namespace

Reading<std::string_view> serve_read(const Answer& answer, std::span<char> buffer, bool whole) {
  if (!answer.has_content()) return negative<std::string_view>(answer);
  const std::size_t size = std::min(answer.text.size(), buffer.size());
  // A reader whose buffer is full cannot know that the file has ended.
  if (whole && (answer.kind == AnswerKind::cut || answer.text.size() > buffer.size()))
    return Failure{std::error_code(EFBIG, std::generic_category()), {}};
  std::copy_n(answer.text.data(), size, buffer.data());
  return std::string_view(buffer.data(), size);
}

Reading<Unit> serve_done(const Answer& answer) {
  if (answer.kind == AnswerKind::absent || answer.kind == AnswerKind::failure) return negative<Unit>(answer);
  return Unit{};
}

Reading<std::string> serve_link(const Answer& answer) {
  if (answer.kind == AnswerKind::link) return answer.text;
  return negative<std::string>(answer);
}

Answer answer_of(const FileFacts& facts) {
  Answer answer;
  answer.kind = AnswerKind::numbers;
  answer.numbers = {facts.mode,  facts.uid,  facts.rdev,
                    facts.inode, facts.size, static_cast<std::uint64_t>(facts.modified.count())};
  return answer;
}

Reading<FileFacts> serve_facts(const Answer& answer) {
  const auto& numbers = answer.numbers;
  // A capture of an earlier version has no time.
  if (answer.kind != AnswerKind::numbers || numbers.size() < 5 || numbers.size() > 6)
    return negative<FileFacts>(answer);
  return FileFacts{static_cast<std::uint32_t>(numbers[0]),
                   static_cast<std::uint32_t>(numbers[1]),
                   numbers[2],
                   numbers[3],
                   numbers[4],
                   Nanoseconds(numbers.size() > 5 ? static_cast<Nanoseconds::rep>(numbers[5]) : 0)};
}

DrmQuestion drm_question(unsigned long request, const void* argument) {
  if (request == drm::kIoctlI915Throttle) return {"i915-throttle", false};
  if (request == drm::kIoctlI915Query) {
    if (const drm::I915QueryItem* const item = item_of(argument))
      return {"i915-" + std::to_string(item->query_id), item->length == 0};
  } else if (request == drm::kIoctlXeDeviceQuery) {
    drm::XeDeviceQuery query{};
    std::memcpy(&query, argument, sizeof(query));
    const bool for_size = query.size == 0;
    std::string what = "xe-" + std::to_string(query.query);
    // One query for several firmwares: which one stands in the buffer.
    if (query.query == drm::kXeFirmwareVersion && query.size == sizeof(drm::XeFirmwareVersion)) {
      drm::XeFirmwareVersion asked{};
      std::memcpy(&asked, reinterpret_cast<const void*>(query.data), sizeof(asked));
      what += "-" + std::to_string(asked.which);
    }
    return {std::move(what), for_size};
  } else if (request == drm::kIoctlI915Getparam) {
    drm::I915Getparam query{};
    std::memcpy(&query, argument, sizeof(query));
    return {"i915-param-" + std::to_string(query.param), true};
  }
  return {};
}

Answer drm_answer(unsigned long request, const void* argument, bool for_size) {
  if (request == drm::kIoctlI915Throttle) return {};
  if (request == drm::kIoctlI915Query) {
    const drm::I915QueryItem& item = *item_of(argument);
    if (item.length < 0) return failure_answer({std::error_code(-item.length, std::generic_category()), "item"});
    const auto length = static_cast<std::size_t>(item.length);
    return for_size ? number_answer(length) : content_answer(item.data, length);
  }
  if (request == drm::kIoctlI915Getparam) {
    drm::I915Getparam query{};
    std::memcpy(&query, argument, sizeof(query));
    std::int32_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(query.value), sizeof(value));
    return number_answer(static_cast<std::uint32_t>(value));
  }
  drm::XeDeviceQuery query{};
  std::memcpy(&query, argument, sizeof(query));
  return for_size ? number_answer(query.size) : content_answer(query.data, query.size);
}

Reading<Unit> serve_drm(const Answer& answer, unsigned long request, void* argument, bool for_size) {
  if (request == drm::kIoctlI915Throttle) return serve_done(answer);
  const bool positive =
      for_size ? answer.kind == AnswerKind::numbers && answer.numbers.size() == 1 : answer.has_content();
  const std::size_t size = !positive ? 0 : for_size ? answer.numbers[0] : answer.text.size();
  if (request == drm::kIoctlI915Query) {
    drm::I915QueryItem* const item = item_of(argument);
    if (!item) return invalid("DRM_IOCTL_I915_QUERY");
    if (answer.kind == AnswerKind::failure && answer.text == "item") {
      item->length = -answer.error;
      return Unit{};
    }
    if (!positive) return negative<Unit>(answer);
    if (size > INT32_MAX || (!for_size && static_cast<std::size_t>(item->length) < size)) {
      item->length = -EINVAL;
      return Unit{};
    }
    item->length = static_cast<std::int32_t>(size);
    if (!for_size) std::memcpy(reinterpret_cast<void*>(item->data), answer.text.data(), size);
    return Unit{};
  }
  if (!positive) return negative<Unit>(answer);
  if (request == drm::kIoctlI915Getparam) {
    drm::I915Getparam query{};
    std::memcpy(&query, argument, sizeof(query));
    const auto value = static_cast<std::int32_t>(size);
    std::memcpy(reinterpret_cast<void*>(query.value), &value, sizeof(value));
    return Unit{};
  }
  drm::XeDeviceQuery query{};
  std::memcpy(&query, argument, sizeof(query));
  if (size > UINT32_MAX || (!for_size && query.size != size)) return invalid("DRM_IOCTL_XE_DEVICE_QUERY");
  query.size = static_cast<std::uint32_t>(size);
  if (!for_size) std::memcpy(reinterpret_cast<void*>(query.data), answer.text.data(), size);
  std::memcpy(argument, &query, sizeof(query));
  return Unit{};
}

}  // namespace igpu::capture
