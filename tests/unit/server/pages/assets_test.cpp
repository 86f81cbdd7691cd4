// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "server/pages/page_history.h"
#include "support/fake_http.h"
#include "support/paths.h"

using namespace igpu::exporter;
using igpu::test::FakeRequest;

namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(igpu::test::source_folder()) / "exporter/server/pages/assets";

HttpResponse get(Assets& assets, const std::string& path, const std::string& encoding = "") {
  FakeRequest request;
  request.path_text = path;
  request.headers["Accept-Encoding"] = encoding;
  HttpResponse response;
  if (!assets.answer(request, response)) response.status = 404;
  return response;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_SUITE_BEGIN("assets");

TEST_CASE("every file of the folder is part of the program, and nothing else is served") {
  Assets assets;
  std::size_t files = 0, bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    ++files;
    bytes += entry.file_size();
    const std::string path = "/assets/" + entry.path().filename().string();
    CAPTURE(path);
    CHECK(Assets::has(path));
    const HttpResponse response = get(assets, path);
    CHECK(response.status == 200);
    CHECK(response.content() == text_of(entry.path()));
  }
  CHECK(files == 9);
  CHECK(bytes <= 64'000);
  for (const char* path : {"/assets", "/assets/", "/assets/x", "/assets/../assets/page.js", "/page.js"}) {
    CAPTURE(path);
    CHECK_FALSE(Assets::has(path));
    CHECK(get(assets, path).status == 404);
  }
}

TEST_CASE("browsers keep what has the version of the files in its path, and ask again for the rest") {
  Assets assets;
  const auto caching = [&](const std::string& path) -> std::string {
    const HttpResponse response = get(assets, path);
    for (const auto& [name, value] : response.headers)
      if (name == "Cache-Control") return std::string(value);
    return std::to_string(response.status);
  };
  const std::string folder = "/" + Assets::folder();
  CHECK(Assets::has(folder + "page.js"));
  CHECK(get(assets, folder + "page.js").content() == get(assets, "/assets/page.js").content());
  CHECK(caching(folder + "page.js") == "max-age=31536000, immutable");
  CHECK(caching("/assets/page.js") == "no-cache");
  CHECK(caching("/assets/0123/page.js") == "404");
  CHECK(caching(folder) == "404");
}

TEST_CASE("types are exact, because browsers are told not to guess") {
  Assets assets;
  CHECK(get(assets, "/assets/page.js").content_type.starts_with("text/javascript"));
  CHECK(get(assets, "/assets/page.css").content_type.starts_with("text/css"));
  CHECK(get(assets, "/assets/icon.svg").content_type == "image/svg+xml");
}

TEST_CASE("compressed once") {
  Assets assets;
  const HttpResponse first = get(assets, "/assets/page.js", "gzip, br"),
                     second = get(assets, "/assets/page.js", "gzip");
  CHECK(first.content().starts_with("\x1f\x8b"));
  CHECK(first.shared_body == second.shared_body);
  CHECK(first.content().size() < get(assets, "/assets/page.js").content().size() / 2);
}

TEST_CASE("the files name no other place, and the script makes no markup of text") {
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    std::string text = text_of(entry.path());
    for (const char* name : {"http://www.w3.org/2000/svg"})  // a name, not a resource
      for (std::size_t at = 0; (at = text.find(name)) != std::string::npos;) text.erase(at, std::string(name).size());
    CAPTURE(entry.path());
    for (const char* word :
         {"http:", "https:", "//cdn", "url(", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML",
          "document.write", "eval(", "new Function", "DOMParser", "style=", "onclick"}) {
      CAPTURE(word);
      CHECK(text.find(word) == std::string::npos);
    }
  }
}

TEST_SUITE_END();
