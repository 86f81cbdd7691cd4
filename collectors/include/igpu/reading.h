// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

// The outcome of reading something from the machine. Three outcomes, kept apart as types:
//
//   the value      the machine reported it
//   Absent         the machine does not report it, and why; a normal state, never an error
//   Failure        it should have worked and did not this time; the only outcome that counts as an error
//
//   Reading<Hertz> f = gt.actual_frequency();
//   if (f) use(*f); else if (f.is_absent()) explain(f.absent()); else report(f.failure());
namespace igpu {

// Why a value is absent. Exactly the reasons of intel_gpu_exporter_feature_available.
enum class Reason { permission, kernel, hardware, suspended, disabled };

constexpr std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::permission: return "permission";
    case Reason::kernel: return "kernel";
    case Reason::hardware: return "hardware";
    case Reason::suspended: return "suspended";
    case Reason::disabled: return "disabled";
  }
  return "kernel";
}

struct Absent {
  Reason reason = Reason::kernel;
  int os_error =
      0;  // the errno behind it, 0 if there was none; selects the hint (EPERM and EACCES have different hints)
  bool operator==(const Absent&) const = default;
};

struct Failure {
  std::error_code code;
  std::string where;  // path relative to its root ("sys/class/drm/card0/..."), or the call
};

// The code of a Failure that is only the consequence of another one: the earlier call still hangs.
inline constexpr std::errc kWaitsForAnother = std::errc::connection_already_in_progress;

struct Unit {};  // for Reading<Unit>: it worked, and there is no value

template <class T>
class [[nodiscard]] Reading {
 public:
  // Implicit, so that a function returns any of the three. NOLINTBEGIN(google-explicit-constructor)
  Reading(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Reading(Absent absent) : state_(std::in_place_index<1>, absent) {}
  Reading(Failure failure) : state_(std::in_place_index<2>, std::move(failure)) {}
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  bool is_absent() const { return state_.index() == 1; }
  bool is_failure() const { return state_.index() == 2; }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  const Absent& absent() const { return *std::get_if<1>(&state_); }
  const Failure& failure() const { return *std::get_if<2>(&state_); }

  T value_or(T fallback) const& { return *this ? **this : std::move(fallback); }

  // Converts an absence or failure to another type; only for a Reading without a value.
  template <class U>
  Reading<U> propagate() const {
    if (is_absent()) return absent();
    return failure();
  }
  // Applies f to the value, if any; f returns a plain value.
  template <class F>
  auto map(F&& f) const -> Reading<std::decay_t<std::invoke_result_t<F, const T&>>> {
    if (!*this) return propagate<std::decay_t<std::invoke_result_t<F, const T&>>>();
    return std::forward<F>(f)(**this);
  }

 private:
  std::variant<T, Absent, Failure> state_;
};

}  // namespace igpu
