// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>
#include <vector>

#include "client/http_fetcher.h"
#include "igpu/monitor.h"
#include "top/mailbox.h"
#include "top/pace.h"

namespace igpu::exporter::top {

// Each reads in a thread of its own and puts frames into the mailbox until it is destroyed. Monitor, fetcher, mailbox
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

// One page of another exporter. Whatever is wrong with it ends up in the frame.
HostFrame frame_of(const Fetched& fetched, const std::string& name);
// One reading of this machine; likewise.
HostFrame read_frame(Monitor& monitor, const std::stop_token& stop);

}  // namespace igpu::exporter::top
