// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "machine/machine.h"

namespace igpu::test {

// Does not advance until the test moves it.
class FakeClock final : public Clock {
 public:
  Nanoseconds now() const override { return Nanoseconds(now_.load()); }
  void advance(Nanoseconds by) { now_ += by.count(); }

 private:
  std::atomic<Nanoseconds::rep> now_{std::chrono::nanoseconds(std::chrono::hours(1)).count()};
};

}  // namespace igpu::test
