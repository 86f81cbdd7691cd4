// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace igpu::test {

// A file system that hangs, for some threads: calls that stat or open files are held by the kernel
// (seccomp's notifications) for as long as the test wants, as those of a network file system whose server has gone are.
class HeldCalls {
 public:
  // Runs it on a thread whose calls, and those of threads that it makes, can be held.
  explicit HeldCalls(const std::function<void()>& on_such_a_thread);
  ~HeldCalls();  // held calls continue
  HeldCalls(const HeldCalls&) = delete;
  HeldCalls& operator=(const HeldCalls&) = delete;

  void hold();          // from now on
  void wait_for_one();  // until a call is being held
  void release();       // those go on, and so do later ones

 private:
  struct Supervisor;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace igpu::test
