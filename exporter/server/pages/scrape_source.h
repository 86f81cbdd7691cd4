// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "igpu/monitor.h"

namespace igpu::exporter {

// Source of the pages' data: a Monitor in the program, a fake in tests.
class ScrapeSource {
 public:
  virtual ~ScrapeSource() = default;
  virtual std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request) = 0;
  virtual std::vector<Gpu> gpus() = 0;
  virtual std::vector<std::string> enabled_collectors() const = 0;
};

class MonitorSource final : public ScrapeSource {
 public:
  explicit MonitorSource(Monitor& monitor) : monitor_(monitor) {}
  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request) override { return monitor_.scrape(request); }
  std::vector<Gpu> gpus() override { return monitor_.gpus(); }
  std::vector<std::string> enabled_collectors() const override { return monitor_.enabled_collectors(); }

 private:
  Monitor& monitor_;
};

}  // namespace igpu::exporter
