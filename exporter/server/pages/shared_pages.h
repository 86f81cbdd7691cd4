// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/monitor.h"

namespace igpu::exporter {

// The finished pages of one scrape, for requests that share its result: one of them writes and compresses the page, the
// others send the same bytes. The page is never older than a request that shares it, because it is written only after
// its result is complete, and later requests do not get that result. Thread-safe; no request waits for another's page.
class SharedPages {
 public:
  using Result = std::shared_ptr<const ScrapeResult>;
  using Bytes = std::shared_ptr<const std::string>;
  struct Form {
    std::string_view content_type;  // of static duration
    bool compressed = false;
    bool operator==(const Form&) const = default;
  };

  // Null: no request has kept that page.
  Bytes find(const Result& result, const Form& form) const {
    const std::lock_guard lock(mutex_);
    if (!is_of(result)) return nullptr;
    const auto page = std::find_if(pages_.begin(), pages_.end(), [&](const auto& kept) { return kept.first == form; });
    return page == pages_.end() ? nullptr : page->second;
  }

  // Replaces the pages of other results.
  void keep(const Result& result, const Form& form, Bytes page) {
    Pages dropped;  // freed after the lock is released
    const std::lock_guard lock(mutex_);
    if (!is_of(result)) {
      dropped.swap(pages_);
      result_ = result;
    }
    pages_.emplace_back(form, std::move(page));
  }

  void clear() {
    Pages dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(pages_);
    result_.reset();
  }

 private:
  using Pages = std::vector<std::pair<Form, Bytes>>;

  // Compares owners: a later result may have the address of an earlier one. Requires the lock.
  bool is_of(const Result& result) const { return !result_.owner_before(result) && !result.owner_before(result_); }

  mutable std::mutex mutex_;
  std::weak_ptr<const ScrapeResult> result_;  // weak: the next scrape reuses its memory
  Pages pages_;
};

}  // namespace igpu::exporter
