// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "run/core.h"
#include "run/progress.h"

namespace igpu {

struct PageRequest {
  const CollectorSet& of_run;      // collectors of the run
  const CollectorSet& of_page;     // collectors of the page
  bool only_accumulating = false;  // as Registry::Request
  bool whole = false;              // the run has ended, and the page shows all of it
};

// The page of a run, or of the part of it that is done: the samples of the collectors, what the registry says about
// them (registry_metrics.h), and findings. Logs what is new about the run.
std::shared_ptr<const ScrapeResult> make_scrape_page(RegistryCore& core, const Progress& progress,
                                                     const PageRequest& request);

}  // namespace igpu
