// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "igpu/monitor.h"
#include "igpu/snapshot.h"
#include "model/rows.h"

// Values that are computed or chosen from the rows. Each rule is written here and nowhere else.
namespace igpu::model {

// A finding about this GPU or the whole machine.
struct Found {
  std::string_view feature;
  bool available;
  Absent absent;
};

// Explains why a value is missing, from the findings and failures of the same scrape.
class Reasons {
 public:
  // The spans must outlive it.
  Reasons(std::span<const Found> found, std::span<const CollectorFailure> failures, std::string_view device)
      : found_(found), failures_(failures), device_(device) {}

  bool available(std::string_view feature) const;
  template <class T>
  Reading<T> missing(const Why& why) const {
    return reason(why).template propagate<T>();
  }

 private:
  Reading<Unit> reason(const Why& why) const;
  const CollectorFailure* failure_of(std::string_view collector) const;

  const std::span<const Found> found_;
  const std::span<const CollectorFailure> failures_;
  const std::string_view device_;
};

// Makes the model of a GPU from its rows. The caller fills in identity and times.
GpuModel finish(GpuRows&& rows, const Reasons& reasons);

// The failure of a value that needs two readings, after only one.
Failure no_window();

}  // namespace igpu::model
