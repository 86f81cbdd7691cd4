// SPDX-License-Identifier: Apache-2.0
#include "server/pages/assets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "server/pages/embedded/doctor_js.h"
#include "server/pages/embedded/dom_js.h"
#include "server/pages/embedded/gpu_js.h"
#include "server/pages/embedded/icon_svg.h"
#include "server/pages/embedded/lines_js.h"
#include "server/pages/embedded/page_css.h"
#include "server/pages/embedded/page_js.h"
#include "server/pages/embedded/users_js.h"
#include "view/format/gzip.h"
#include "view/format/negotiation.h"

namespace igpu::exporter {
namespace {

struct Asset {
  std::string_view path, content_type;
  std::string_view bytes;
};

template <std::size_t Size>
std::string_view text_of(const std::array<unsigned char, Size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::string_view kScript = "text/javascript; charset=utf-8";
const Asset kAssets[] = {
    {"/assets/page.js", kScript, text_of(page_js)},
    {"/assets/dom.js", kScript, text_of(dom_js)},
    {"/assets/doctor.js", kScript, text_of(doctor_js)},
    {"/assets/gpu.js", kScript, text_of(gpu_js)},
    {"/assets/lines.js", kScript, text_of(lines_js)},
    {"/assets/users.js", kScript, text_of(users_js)},
    {"/assets/page.css", "text/css; charset=utf-8", text_of(page_css)},
    {"/assets/icon.svg", "image/svg+xml", text_of(icon_svg)},
};

const Asset* find(std::string_view path) {
  const auto* const found = std::ranges::find_if(kAssets, [&](const Asset& asset) { return asset.path == path; });
  return found == std::end(kAssets) ? nullptr : found;
}

}  // namespace

bool Assets::has(std::string_view path) { return find(path) != nullptr; }

bool Assets::answer(const HttpRequest& request, HttpResponse& response) {
  const Asset* const asset = find(request.path());
  if (asset == nullptr) return false;
  response.content_type = asset->content_type;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back("Cache-Control", "no-cache");  // the next version of the program has other files
  if (!accepts_gzip(request.list_header("Accept-Encoding"))) {
    response.body = asset->bytes;
    return true;
  }
  std::call_once(once_, [this] {
    Gzip gzip;
    std::vector<std::shared_ptr<const std::string>> compressed;
    for (const Asset& each : kAssets) {
      std::string out;
      gzip.compress(each.bytes, out);
      out.shrink_to_fit();
      compressed.push_back(std::make_shared<const std::string>(std::move(out)));
    }
    compressed_ = std::move(compressed);
  });
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.shared_body = compressed_[static_cast<std::size_t>(asset - std::begin(kAssets))];
  return true;
}

}  // namespace igpu::exporter
