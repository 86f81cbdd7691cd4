// SPDX-License-Identifier: Apache-2.0
#include "registry/client_page.h"

#include <utility>
#include <vector>

namespace igpu {
namespace {

class ClientPage final : public ScrapeResult {
 public:
  ClientPage(std::shared_ptr<const ScrapeResult> shared, std::shared_ptr<SampleSink> own)
      : shared_(std::move(shared)), own_(std::move(own)), lists_(shared_->lists().begin(), shared_->lists().end()) {
    lists_.push_back(&own_->samples());
  }
  std::span<const SampleList* const> lists() const override { return lists_; }
  std::span<const Finding> findings() const override { return shared_->findings(); }
  std::span<const std::string_view> failed_collectors() const override { return shared_->failed_collectors(); }
  std::span<const CollectorFailure> failures() const override { return shared_->failures(); }

 private:
  const std::shared_ptr<const ScrapeResult> shared_;
  const std::shared_ptr<SampleSink> own_;
  std::vector<const SampleList*> lists_;
};

}  // namespace

std::shared_ptr<const ScrapeResult> make_client_page(std::shared_ptr<const ScrapeResult> shared, ClientSamples& samples,
                                                     std::string_view client, SinkPool& sinks) {
  std::shared_ptr<SampleSink> own = sinks.empty_sink();
  samples.write(client, *own);
  return std::make_shared<ClientPage>(std::move(shared), std::move(own));
}

}  // namespace igpu
