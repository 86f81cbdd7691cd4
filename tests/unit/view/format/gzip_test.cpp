// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <zlib.h>

#include <random>
#include <string>

#include "view/format/text_writer.h"

TEST_SUITE_BEGIN("gzip");

using igpu::exporter::Gzip;

namespace {

std::string unpacked(std::string compressed) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string text;
  char buffer[4096];
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof(buffer);
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer, sizeof(buffer) - stream.avail_out);
  }
  CHECK(status == Z_STREAM_END);
  CHECK(stream.avail_in == 0);
  inflateEnd(&stream);
  return text;
}

}  // namespace

TEST_CASE("compressed texts decompress to the same, one after another") {
  Gzip gzip;
  std::string out = "left over from before";
  std::string noise(100000, '\0');
  std::mt19937 random(1);
  for (char& c : noise) c = static_cast<char>(random());
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(1000000, 'x'), noise, std::string("again")}) {
    gzip.compress(text, out);
    CHECK(out.starts_with("\x1f\x8b"));
    CHECK(unpacked(out) == text);
  }
}

TEST_CASE("a page becomes smaller") {
  Gzip gzip;
  std::string page, out;
  for (int i = 0; i < 1000; ++i)
    page += "intel_gpu_engine_busy_ratio{device=\"0000:03:00.0\",engine=\"rcs" + std::to_string(i) + "\"} 0.5\n";
  gzip.compress(page, out);
  CHECK(out.size() * 5 < page.size());
}

TEST_SUITE_END();
