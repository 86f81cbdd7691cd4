// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>

#include "machine/gpu_adapters.h"
#include "machine/library_windows.h"
#include "machine/pdh_windows.h"
#include "machine/windows_status.h"

namespace igpu {
namespace {

using Counters = std::vector<EngineCounter>;

constexpr DWORD kMostBytes = 64u << 20;  // more than a million instances: no machine has them
constexpr DWORD kMostItems = 65536;
constexpr std::size_t kLongestName = 128;

// English whatever Windows' language is: PdhAddEnglishCounter.
constexpr const char16_t* kPath = u"\\GPU Engine(*)\\Running Time";

Failure too_large(const char* what) {
  return {std::make_error_code(std::errc::value_too_large), std::string("PdhGetRawCounterArray: ") + what};
}

class SystemEngineCounters final : public EngineCounters {
 public:
  explicit SystemEngineCounters(std::string library) : name_(std::move(library)) {}
  ~SystemEngineCounters() override { close(); }
  SystemEngineCounters(const SystemEngineCounters&) = delete;
  SystemEngineCounters& operator=(const SystemEngineCounters&) = delete;

  Reading<Counters> read() override {
    const std::lock_guard lock(mutex_);
    if (absent_) return *absent_;
    if (query_ == nullptr) {
      if (const auto opened = open(); !opened) {
        close();
        // A Windows that has not the counter is not asked again: looking for it reads the registry.
        if (opened.is_absent()) absent_ = opened.absent();
        return opened.propagate<Counters>();
      }
    }
    const auto collected = static_cast<PdhStatus>(collect_(query_));
    if (is_empty(collected)) return Counters{};
    if (collected != PdhStatus::success) return outcome_of_pdh_status<Counters>(collected, "PdhCollectQueryData");
    return values();
  }

 private:
  Reading<Unit> open() {
    if (!library_) library_.emplace(name_);
    if (!library_->look_up(open_, "PdhOpenQueryW") || !library_->look_up(add_, "PdhAddEnglishCounterW") ||
        !library_->look_up(collect_, "PdhCollectQueryData") || !library_->look_up(array_, "PdhGetRawCounterArrayW") ||
        !library_->look_up(close_, "PdhCloseQuery"))
      return Absent{Reason::kernel, ENOSYS};
    const auto opened = static_cast<PdhStatus>(open_(nullptr, 0, &query_));
    if (opened != PdhStatus::success) return outcome_of_pdh_status<Unit>(opened, "PdhOpenQuery");
    const auto added = static_cast<PdhStatus>(add_(query_, kPath, 0, &counter_));
    if (added != PdhStatus::success) return outcome_of_pdh_status<Unit>(added, "PdhAddEnglishCounter");
    return Unit{};
  }
  void close() {
    if (query_ != nullptr) (void)close_(query_);
    query_ = nullptr;
  }

  // No process uses a GPU.
  static bool is_empty(PdhStatus status) { return status == PdhStatus::no_data || status == PdhStatus::no_instance; }

  // Instances come and go: the size that it asks for may be too small a moment later.
  Reading<Counters> values() {
    constexpr int kTries = 4;
    DWORD bytes = 0, count = 0;
    std::vector<pdh::Item> items;
    auto status = static_cast<PdhStatus>(array_(counter_, &bytes, &count, nullptr));
    for (int tried = 0; status == PdhStatus::more_data && tried < kTries; ++tried) {
      if (bytes > kMostBytes) return too_large("size");
      items.resize(bytes / sizeof(pdh::Item) + 1);
      bytes = static_cast<DWORD>(items.size() * sizeof(pdh::Item));
      status = static_cast<PdhStatus>(array_(counter_, &bytes, &count, items.data()));
    }
    if (is_empty(status)) return Counters{};
    if (status != PdhStatus::success) return outcome_of_pdh_status<Counters>(status, "PdhGetRawCounterArray");
    if (count > kMostItems || count > items.size()) return too_large("number of instances");
    Counters counters;
    counters.reserve(count);
    for (DWORD i = 0; i < count; ++i)
      if (items[i].value.status <= pdh::kNewData) counters.push_back({name_of(items[i], items), items[i].value.first});
    return counters;
  }

  // Names are ASCII; anything else makes a name that nobody knows. So does one that is not in the buffer.
  static std::string name_of(const pdh::Item& item, const std::vector<pdh::Item>& buffer) {
    const auto* const begin = reinterpret_cast<const char*>(buffer.data());
    const auto* const end = reinterpret_cast<const char*>(buffer.data() + buffer.size());
    const auto* const at = reinterpret_cast<const char*>(item.name);
    if (std::less<>()(at, begin) || !std::less<>()(at, end)) return {};
    const std::size_t room = std::min(static_cast<std::size_t>(end - at) / sizeof(char16_t), kLongestName);
    std::string name;
    for (std::size_t i = 0; i < room; ++i) {
      char16_t c = 0;
      std::memcpy(&c, at + i * sizeof c, sizeof c);
      if (c == 0) break;
      name += c < 0x80 ? static_cast<char>(c) : '?';
    }
    return name;
  }

  const std::string name_;
  std::mutex mutex_;
  std::optional<WindowsLibrary> library_;
  std::optional<Absent> absent_;
  pdh::Handle query_ = nullptr, counter_ = nullptr;
  LONG(WINAPI* open_)(const char16_t*, std::uintptr_t, pdh::Handle*) = nullptr;
  LONG(WINAPI* add_)(pdh::Handle, const char16_t*, std::uintptr_t, pdh::Handle*) = nullptr;
  LONG(WINAPI* collect_)(pdh::Handle) = nullptr;
  LONG(WINAPI* array_)(pdh::Handle, DWORD*, DWORD*, pdh::Item*) = nullptr;
  LONG(WINAPI* close_)(pdh::Handle) = nullptr;
};

}  // namespace

std::unique_ptr<EngineCounters> system_engine_counters(const std::string& library) {
  return std::make_unique<SystemEngineCounters>(library);
}

}  // namespace igpu
