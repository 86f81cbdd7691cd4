// SPDX-License-Identifier: Apache-2.0
#include "server/pages/assets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>

#include "server/pages/embedded/doctor_js.h"
#include "server/pages/embedded/dom_js.h"
#include "server/pages/embedded/gpu_js.h"
#include "server/pages/embedded/icon_svg.h"
#include "server/pages/embedded/lines_js.h"
#include "server/pages/embedded/page_css.h"
#include "server/pages/embedded/page_js.h"
#include "server/pages/embedded/start_js.h"
#include "server/pages/embedded/users_js.h"
#include "view/format/gzip.h"
#include "view/format/negotiation.h"

namespace igpu::exporter {
namespace {

struct Asset {
  std::string_view name, content_type;
  std::string_view bytes;
};

template <std::size_t Size>
std::string_view text_of(const std::array<unsigned char, Size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::string_view kScript = "text/javascript; charset=utf-8";
const Asset kAssets[] = {
    {"start.js", kScript, text_of(start_js)},
    {"page.js", kScript, text_of(page_js)},
    {"dom.js", kScript, text_of(dom_js)},
    {"doctor.js", kScript, text_of(doctor_js)},
    {"gpu.js", kScript, text_of(gpu_js)},
    {"lines.js", kScript, text_of(lines_js)},
    {"users.js", kScript, text_of(users_js)},
    {"page.css", "text/css; charset=utf-8", text_of(page_css)},
    {"icon.svg", "image/svg+xml", text_of(icon_svg)},
};

constexpr std::string_view kFolder = "/assets/";

// "4711/" of "/assets/4711/page.js": other bytes have another name, so a browser never asks twice for the same.
const std::string& version_folder() {
  static const std::string folder = [] {
    std::size_t all = 0;
    for (const Asset& asset : kAssets) all = all * 31 + std::hash<std::string_view>()(asset.bytes);
    return std::to_string(all) + "/";
  }();
  return folder;
}

bool is_versioned(std::string_view path) { return path.substr(kFolder.size()).starts_with(version_folder()); }

const Asset* find(std::string_view path) {
  if (!path.starts_with(kFolder)) return nullptr;
  path.remove_prefix(kFolder.size() + (is_versioned(path) ? version_folder().size() : 0));
  const auto* const found = std::ranges::find(kAssets, path, &Asset::name);
  return found == std::end(kAssets) ? nullptr : found;
}

}  // namespace

std::string Assets::folder() { return std::string(kFolder.substr(1)) + version_folder(); }

bool Assets::has(std::string_view path) { return find(path) != nullptr; }

bool Assets::answer(const HttpRequest& request, HttpResponse& response) {
  const Asset* const asset = find(request.path());
  if (asset == nullptr) return false;
  response.content_type = asset->content_type;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back("Cache-Control",
                                is_versioned(request.path()) ? "max-age=31536000, immutable" : "no-cache");
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
