// SPDX-License-Identifier: Apache-2.0
// Atomic access to plain numbers that lie in shared memory, and a lock for a few instructions.
#pragma once

#include <sched.h>

namespace igpu::level_zero {

template <class T>
T load(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <class T>
void store(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <class T>
T add(T& word, T by) {  // returns the new value
  return __atomic_add_fetch(&word, by, __ATOMIC_RELAXED);
}
template <class T>
T subtract(T& word, T by) {
  return __atomic_sub_fetch(&word, by, __ATOMIC_RELAXED);
}
template <class T>
bool exchange_if(T& word, T expected, T wanted) {
  return __atomic_compare_exchange_n(&word, &expected, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
template <class T>
void raise_to(T& peak, T value) {
  if (value > static_cast<T>(-1) / 2) return;  // briefly below zero: a destroy was counted before its create
  T seen = __atomic_load_n(&peak, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(&peak, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

// A lock that is held for a few instructions. Its holder may be preempted, so waiters yield.
class SpinGuard {
 public:
  explicit SpinGuard(unsigned& lock) : lock_(lock) {
    for (unsigned tries = 1; __atomic_exchange_n(&lock_, 1u, __ATOMIC_ACQUIRE) != 0; ++tries)
      if (tries % 64 == 0) sched_yield();
  }
  ~SpinGuard() { store(lock_, 0u); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  unsigned& lock_;
};

}  // namespace igpu::level_zero
