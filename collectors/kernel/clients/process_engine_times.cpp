// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/process_engine_times.h"

#include <cerrno>

#include "base/scan.h"
#include "kernel/windows/wddm.h"
#include "machine/engine_counters.h"
#include "machine/gpu_adapters.h"

namespace igpu {
namespace {

// A process uses an engine for as long as time passes, but a long job is counted when it ends.
constexpr GainBound kBound{.per_second = 1e7, .at_once = 1e7};

// Takes "prefix123_" off the front of rest; base 16: "prefix0x7B_".
template <class Integer>
std::optional<Integer> take_number(std::string_view& rest, std::string_view prefix, int base = 10) {
  if (!rest.starts_with(prefix)) return std::nullopt;
  rest.remove_prefix(prefix.size());
  const std::string_view digits = take_until(rest, '_');
  if (digits.empty() || is_blank(digits.front()) || is_blank(digits.back()) || digits.back() == '\0')
    return std::nullopt;
  return scan_integer<Integer>(digits, base);
}

}  // namespace

std::optional<EngineCounterName> parse_engine_counter_name(std::string_view name) {
  const auto pid = take_number<std::uint32_t>(name, "pid_");
  const auto high = take_number<std::uint32_t>(name, "luid_", 16);
  const auto low = take_number<std::uint32_t>(name, "", 16);
  const auto adapter = take_number<std::uint32_t>(name, "phys_");
  const auto node = take_number<std::uint32_t>(name, "eng_");
  if (!pid || !high || !low || !adapter || !node || !name.starts_with("engtype_")) return std::nullopt;
  return EngineCounterName{*pid, static_cast<std::uint64_t>(*high) << 32 | *low, *adapter, *node};
}

Reading<Unit> ProcessEngineTimes::refresh() {
  EngineCounters* const source = machine_.adapters == nullptr ? nullptr : machine_.adapters->engine_counters();
  if (source == nullptr) return Absent{Reason::kernel, ENOSYS};
  const Nanoseconds begin = machine_.clock.now();
  const auto counters = source->read();
  if (!counters) return counters.propagate<Unit>();
  const Nanoseconds end = machine_.clock.now();
  refused_ = 0;
  std::map<Key, std::uint64_t> now;
  bool any_name = counters->empty();
  for (const EngineCounter& counter : *counters) {
    const auto name = parse_engine_counter_name(counter.instance);
    any_name = any_name || name;
    // The nodes that the adapter describes are those of the first one that is linked.
    if (!name || name->luid != luid_ || name->adapter != 0) continue;
    if (name->node >= kMostWddmNodes || !wddm_time(Reading<std::int64_t>(counter.running))) {
      ++refused_;
      continue;
    }
    now[{name->pid, name->node}] += static_cast<std::uint64_t>(counter.running);
  }
  if (!any_name)
    return Failure{std::make_error_code(std::errc::invalid_argument),
                   "performance counter GPU Engine: names of its instances"};
  // Before the first one nobody knows whether this GPU has any.
  if (!last_ && now.empty()) return Absent{Reason::kernel, ENODATA};
  std::map<Key, MonotonicCounter> known;
  for (const auto& [key, running] : now) {
    const auto before = known_.find(key);
    if (before != known_.end()) {
      MonotonicCounter& counter = known.emplace(key, before->second).first->second;
      const std::uint64_t total = counter.total();
      (void)counter.advance_bounded(running, 0, kBound, begin, end);
      totals_[key.second] += counter.total() - total;
      continue;
    }
    (void)known[key].advance_bounded(running, 0, kBound, begin, end);
    // It has begun since the last reading, unless it has more time than fits since then.
    const bool is_new = last_ && static_cast<double>(running) <= kBound.most(end - *last_);
    totals_[key.second] += is_new ? running : 0;
  }
  known_ = std::move(known);
  last_ = begin;
  return Unit{};
}

Nanoseconds ProcessEngineTimes::busy(std::uint32_t node) const {
  const auto at = totals_.find(node);
  return at == totals_.end() ? Nanoseconds::zero() : Nanoseconds(static_cast<std::int64_t>(at->second) * 100);
}

}  // namespace igpu
