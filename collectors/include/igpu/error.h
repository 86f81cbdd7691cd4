// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

#include "igpu/export.h"

// What Gpu, OpenGpu and the samplers throw. A value that a machine does not report is not an error: it is a Reading
// without a value, and Snapshot::features has its hint.
namespace igpu {

class IGPU_API GpuError : public std::runtime_error {
 public:
  GpuError(const std::string& message, std::string hint);
  GpuError(const GpuError&) noexcept;
  ~GpuError() override;
  // One line: what to do about it, as `intel-gpu-exporter doctor` prints it. "" where nothing can be done.
  const char* hint() const noexcept { return hint_.what(); }

 private:
  std::runtime_error hint_;  // copies without throwing
};

// No GPU of this machine is bound to i915 or xe.
class IGPU_API NoGpu : public GpuError {
 public:
  using GpuError::GpuError;
  ~NoGpu() override;
};

// No GPU of this machine has the given name; the hint lists those that exist.
class IGPU_API NoSuchGpu : public GpuError {
 public:
  using GpuError::GpuError;
  ~NoSuchGpu() override;
};

// The GPU was removed or its driver unbound it. A later read() works again if the GPU returns.
class IGPU_API GpuGone : public GpuError {
 public:
  using GpuError::GpuError;
  ~GpuGone() override;
};

// An option has an invalid value.
class IGPU_API InvalidOption : public GpuError {
 public:
  using GpuError::GpuError;
  ~InvalidOption() override;
};

// The operating system refused a resource that the library needs (a timer, a thread).
class IGPU_API SystemFailure : public GpuError {
 public:
  SystemFailure(const std::string& message, std::error_code code, std::string hint);
  SystemFailure(const SystemFailure&) noexcept;
  ~SystemFailure() override;
  const std::error_code& code() const noexcept { return code_; }

 private:
  std::error_code code_;
};

// What a coroutine gets from `co_await timer.next()` when the timer ends.
class IGPU_API SamplingEnded : public GpuError {
 public:
  using GpuError::GpuError;
  ~SamplingEnded() override;
};

}  // namespace igpu
