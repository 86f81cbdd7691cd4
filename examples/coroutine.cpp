// SPDX-License-Identifier: Apache-2.0
//
// Two coroutines that wait for the same readings.                              coroutine [SIMULATED MACHINE]
#include <igpu/gpu.h>
#include <igpu/sampling.h>

#include <chrono>
#include <coroutine>
#include <exception>
#include <iostream>

namespace {

// A coroutine that runs until it first waits, and destroys itself at its end. Your framework has one of these.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Task print_load(igpu::SampleTimer& timer, igpu::EngineClass engine_class) {
  try {
    for (int i = 0; i < 3; ++i) {
      const igpu::Snapshot now = co_await timer.next();
      if (const auto busy = now.busy(engine_class))
        std::cout << to_string(engine_class) << ": " << 100 * busy->value << " %\n";
    }
  } catch (const igpu::GpuError& error) {
    std::cerr << error.what() << "; " << error.hint() << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  igpu::GpuOptions options;
  if (argc > 1) options.simulate = argv[1];
  try {
    igpu::SampleTimer timer(igpu::Gpu::detect(options), std::chrono::milliseconds(100));
    print_load(timer, igpu::EngineClass::render);
    print_load(timer, igpu::EngineClass::video);
    timer.run();  // until no coroutine waits; in an event loop: timer.dispatch() when timer.descriptor() is readable
  } catch (const igpu::GpuError& error) {
    std::cerr << error.what() << "; " << error.hint() << "\n";
    return 1;
  }
}
