// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>
#include <vector>

#include "client/http_fetcher.h"
#include "igpu/monitor.h"
#include "top/mailbox.h"
#include "top/pace.h"

namespace igpu::exporter::top {

// A source reads in its own thread and puts frames into the mailbox until it is destroyed. Monitor, fetcher, mailbox
// and pace must outlive it.
class LocalSource {
 public:
  LocalSource(Monitor& monitor, Mailbox& mailbox, Pace& pace);

 private:
  std::jthread thread_;
};

class RemoteSource {
 public:
  RemoteSource(HttpFetcher& fetcher, const std::vector<ScrapeTarget>& targets, Mailbox& mailbox, Pace& pace);

 private:
  std::jthread thread_;
};

// The frame of a fetched page. If the page is missing or invalid, the frame has state failed and says why.
HostFrame frame_of(const Fetched& fetched, const std::string& name);
// The frame of one scrape of this machine. If the scrape fails, the frame has state failed and says why.
HostFrame read_frame(Monitor& monitor, const std::stop_token& stop);

}  // namespace igpu::exporter::top
