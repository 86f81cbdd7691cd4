// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string_view>

#include "igpu/page.h"

// Series of a page, looked up by metric and GPU.
namespace igpu::exporter {

struct Series {
  const MetricDescriptor* metric;
  PageView::Entry entry;

  std::string_view label(std::string_view name) const {  // "": absent
    for (std::size_t i = 0; i < metric->label_count; ++i) {
      if (metric->label_names[i] == name) return entry.list->label_value(*entry.sample, i);
    }
    return {};
  }
  double value() const { return entry.sample->value; }
};

// The series of one GPU. The page must outlive it.
class DeviceSeries {
 public:
  DeviceSeries(const PageView& page, std::string_view address) : address_(address) {
    for (const PageView::Family& family : page.families()) families_.emplace(family.metric->name, &family);
  }
  void each(std::string_view metric, const std::function<void(const Series&)>& use) const {
    const auto it = families_.find(metric);
    if (it == families_.end()) return;
    for (const PageView::Entry& entry : it->second->entries) {
      const Series series{it->second->metric, entry};
      if (series.label("device") == address_) use(series);
    }
  }

 private:
  std::string_view address_;
  std::map<std::string_view, const PageView::Family*> families_;
};

}  // namespace igpu::exporter
