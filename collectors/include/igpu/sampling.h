// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "igpu/export.h"
#include "igpu/gpu.h"
#include "igpu/snapshot.h"

// Reading a GPU again and again, in three forms:
//
//   Sampler                    a callback on a thread of the library
//   SampleTimer, descriptor()  a descriptor for an event loop (GMainLoop, libuv, epoll): no thread, no signal handler
//   SampleTimer, next()        the same for C++20 coroutines: co_await timer.next()
//
// Readings are due at whole multiples of the interval after the start. Readings that are missed because a reading or
// the program took too long are counted, and not repeated.
namespace igpu {

// Calls back on a thread of its own, which it starts at once and which blocks all signals.
//
//   igpu::Sampler sampler(igpu::Gpu::detect(), 100ms, [](const igpu::Snapshot& now) { draw(now); });
class IGPU_API Sampler {
 public:
  using Callback = std::function<void(const Snapshot&)>;

  // interval: at least a millisecond, otherwise InvalidOption is thrown; SystemFailure without a thread. `stop` ends
  // the sampling as stop() does.
  Sampler(OpenGpu gpu, Nanoseconds interval, Callback callback, std::stop_token stop = {});
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  // Stops and waits for the callback to return. In the callback itself it does not wait: no call follows, and the
  // thread ends with this one. After fork() the child has no such thread: there it only closes the GPU.
  ~Sampler();

  void stop() noexcept;  // any thread, also the callback's own
  // Until it has ended: by stop(), or because a read or the callback threw. Rethrows that exception. In the callback it
  // throws SystemFailure.
  void wait();
  bool running() const noexcept;
  std::exception_ptr error() const;       // what ended it; null: nothing did
  std::uint64_t missed() const noexcept;  // readings that were due while an earlier one was not finished

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Belongs to one thread, usually that of an event loop.
//
//   igpu::SampleTimer timer(igpu::Gpu::detect(), 1s);
//   g_unix_fd_add(timer.descriptor(), G_IO_IN, on_readable, &timer);   // on_readable: timer->read()
//
// After fork() the parent's timer continues. In the child, read() throws SamplingEnded; the child makes a timer of its
// own.
class IGPU_API SampleTimer {
 public:
  // As Sampler. The first reading is due after one interval.
  SampleTimer(OpenGpu gpu, Nanoseconds interval);
  SampleTimer(SampleTimer&&) noexcept;
  SampleTimer& operator=(SampleTimer&&) noexcept;
  ~SampleTimer();  // coroutines that wait get SamplingEnded

  // Readable while a reading is due (POLLIN). Owned by the timer: do not read or close it.
  int descriptor() const noexcept;
  // Clears the descriptor and reads. nullopt: no reading is due. Throws GpuGone.
  std::optional<Snapshot> read();
  std::uint64_t missed() const noexcept;

  // The event loop's part for coroutines: if a reading is due, reads, and resumes those that wait for it on this
  // thread. They receive what read() throws. Returns whether a reading was due.
  bool dispatch();
  // In place of an event loop: waits and dispatches until no coroutine is waiting or `stop` is stopped.
  void run(std::stop_token stop = {});

  struct State;
  class IGPU_API Next {
   public:
    explicit Next(State& state) : state_(&state) {}
    Next(const Next&) = delete;
    Next& operator=(const Next&) = delete;
    ~Next();
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> handle);
    Snapshot await_resume();

   private:
    friend class SampleTimer;
    State* state_;
    std::coroutine_handle<> handle_;
    std::optional<Snapshot> snapshot_;
    std::exception_ptr error_;
    bool waiting_ = false;
  };
  // The next reading that is due: `Snapshot now = co_await timer.next();`. Any number of coroutines may wait.
  // A coroutine must not destroy the timer while dispatch() resumes it.
  Next next() { return Next(*state_); }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace igpu
