// SPDX-License-Identifier: Apache-2.0
#include "kernel/device/drm_calls.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include "kernel/device/drm_uapi.h"

namespace igpu::drm {
namespace {

Failure failure(int error, std::string_view where) {
  return {std::error_code(error, std::generic_category()), std::string(where)};
}

template <class T>
T load(const void* from) {
  T value{};
  std::memcpy(&value, from, sizeof(value));
  return value;
}

I915QueryItem* item_of(const void* argument) {
  const auto query = load<I915Query>(argument);
  return query.num_items == 1 ? reinterpret_cast<I915QueryItem*>(query.items) : nullptr;
}

std::string_view bytes_at(std::uint64_t address, std::size_t size) {
  return {reinterpret_cast<const char*>(address), size};
}

void put(std::uint64_t address, const void* from, std::size_t size) {
  std::memcpy(reinterpret_cast<void*>(address), from, size);
}

}  // namespace

Question question(unsigned long request, const void* argument) {
  if (request == kIoctlI915Throttle) return {std::string(kThrottle), false};
  if (request == kIoctlI915Query) {
    if (const I915QueryItem* const item = item_of(argument)) return {i915_query(item->query_id), item->length == 0};
  } else if (request == kIoctlXeDeviceQuery) {
    const auto query = load<XeDeviceQuery>(argument);
    std::string what = xe_query(query.query);
    // One query for several firmwares: which one stands in the buffer.
    if (query.query == kXeFirmwareVersion && query.size == sizeof(XeFirmwareVersion))
      what += "-" + std::to_string(load<XeFirmwareVersion>(reinterpret_cast<const void*>(query.data)).which);
    return {std::move(what), query.size == 0};
  } else if (request == kIoctlI915Getparam) {
    return {i915_param(load<I915Getparam>(argument).param), true};
  }
  return {};
}

Reading<Result> result_of(unsigned long request, const void* argument, bool for_size) {
  if (request == kIoctlI915Throttle) return Result{};
  if (request == kIoctlI915Query) {
    const I915QueryItem& item = *item_of(argument);
    if (item.length < 0) return failure(-item.length, "item");
    const auto size = static_cast<std::size_t>(item.length);
    return Result{size, for_size ? std::string_view() : bytes_at(item.data, size)};
  }
  if (request == kIoctlI915Getparam) {
    const auto query = load<I915Getparam>(argument);
    return Result{static_cast<std::uint32_t>(load<std::int32_t>(reinterpret_cast<const void*>(query.value))), {}};
  }
  const auto query = load<XeDeviceQuery>(argument);
  return Result{query.size, for_size ? std::string_view() : bytes_at(query.data, query.size)};
}

Reading<Unit> answer(unsigned long request, void* argument, bool for_size, const Result& result) {
  if (request == kIoctlI915Throttle) return Unit{};
  const std::size_t size = for_size ? result.number : result.bytes.size();
  if (request == kIoctlI915Query) {
    I915QueryItem* const item = item_of(argument);
    if (size > INT32_MAX || (!for_size && static_cast<std::size_t>(item->length) < size))
      return refuse(request, argument, EINVAL);
    item->length = static_cast<std::int32_t>(size);
    if (!for_size) put(item->data, result.bytes.data(), size);
    return Unit{};
  }
  if (request == kIoctlI915Getparam) {
    const auto value = static_cast<std::int32_t>(size);
    put(load<I915Getparam>(argument).value, &value, sizeof(value));
    return Unit{};
  }
  auto query = load<XeDeviceQuery>(argument);
  if (size > UINT32_MAX || (!for_size && query.size != size)) return refuse(request, argument, EINVAL);
  query.size = static_cast<std::uint32_t>(size);
  if (!for_size) put(query.data, result.bytes.data(), size);
  std::memcpy(argument, &query, sizeof(query));
  return Unit{};
}

Reading<Unit> refuse(unsigned long request, void* argument, int error) {
  I915QueryItem* const item = request == kIoctlI915Query ? item_of(argument) : nullptr;
  if (item == nullptr) return failure(error, "ioctl");
  item->length = -error;
  return Unit{};
}

}  // namespace igpu::drm
