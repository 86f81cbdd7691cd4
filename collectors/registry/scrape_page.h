// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "registry/core.h"
#include "registry/progress.h"

namespace igpu {

struct PageRequest {
  const CollectorSet& of_run;   // that the run was started for
  const CollectorSet& of_page;  // that the page's reader asked for
  bool only_accumulating = false;
  bool whole = false;  // the run has ended, and the page has all of it
};

// The page of a run, or of the part of it that is done: the samples of the collectors, what the registry says about
// them (registry_metrics.h), and findings. Logs what is new about the run.
std::shared_ptr<const ScrapeResult> make_scrape_page(RegistryCore& core, const Progress& progress,
                                                     const PageRequest& request);

}  // namespace igpu
