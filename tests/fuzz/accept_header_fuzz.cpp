// SPDX-License-Identifier: Apache-2.0
//
// Accept and Accept-Encoding as any client may send them: always an answer, and one of the three that we have.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "view/format/text_writer.h"

using namespace igpu::exporter;

FUZZ_TARGET(accept_header) {
  const std::string_view header(reinterpret_cast<const char*>(data), size);
  const FormatChoice choice = choose_format(header);
  const bool open =
      choice.content_type == kOpenMetricsContentType || choice.content_type == kOpenMetricsEscapingContentType;
  const bool text = choice.content_type == kPrometheusTextContentType;
  if (choice.format == Format::openmetrics ? !open : !text) std::abort();
  // A client gets OpenMetrics only if it named it.
  if (open && header.size() < std::string_view("application/openmetrics-text").size()) std::abort();
  if (accepts_gzip(header) && header.find_first_of("gG*") == std::string_view::npos) std::abort();
  return 0;
}
