// SPDX-License-Identifier: Apache-2.0
#include "igpu/error.h"

namespace igpu {

// By value as in the ABI. NOLINTNEXTLINE(performance-unnecessary-value-param)
GpuError::GpuError(const std::string& message, std::string hint) : std::runtime_error(message), hint_(hint) {}
GpuError::GpuError(const GpuError&) noexcept = default;
GpuError::~GpuError() = default;

SystemFailure::SystemFailure(const std::string& message, std::error_code code, std::string hint)
    : GpuError(message + ": " + code.message(), std::move(hint)), code_(code) {}
SystemFailure::SystemFailure(const SystemFailure&) noexcept = default;
SystemFailure::~SystemFailure() = default;

NoGpu::~NoGpu() = default;
NoSuchGpu::~NoSuchGpu() = default;
GpuGone::~GpuGone() = default;
InvalidOption::~InvalidOption() = default;
SamplingEnded::~SamplingEnded() = default;

}  // namespace igpu
