// SPDX-License-Identifier: Apache-2.0
// libarchive is for reading only: its writer of tar archives would bring those of all other formats into the program.
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "view/capture_file/archive.h"

namespace igpu::exporter {
namespace {

class Compressor {
 public:
  Compressor() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    if (!context_) throw std::bad_alloc();
    (void)check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
  }
  void add(std::string_view bytes) { compress(bytes, ZSTD_e_continue); }
  std::string finish() {
    compress({}, ZSTD_e_end);
    return std::move(out_);
  }

 private:
  static std::size_t check(std::size_t result) {
    if (ZSTD_isError(result) != 0) throw CaptureError(std::string("zstd: ") + ZSTD_getErrorName(result));
    return result;
  }
  void compress(std::string_view bytes, ZSTD_EndDirective what) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (bool more = true; more;) {
      std::array<char, 16384> buffer;
      ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
      const std::size_t left = check(ZSTD_compressStream2(context_.get(), &out, &in, what));
      out_.append(buffer.data(), out.pos);
      more = what == ZSTD_e_end ? left > 0 : in.pos < in.size;
    }
  }

  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
  std::string out_;
};

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameBytes = 100;

void add_padded(Compressor& out, std::string_view content) {
  out.add(content);
  out.add(std::string((kBlock - content.size() % kBlock) % kBlock, '\0'));
}

void put_octal(std::string& header, std::size_t at, std::size_t digits, std::uint64_t number) {
  for (std::size_t i = digits; i-- > 0; number >>= 3U) header[at + i] = static_cast<char>('0' + (number & 7U));
}

// A header block as POSIX defines it (pax, "ustar Interchange Format").
void add_header(Compressor& out, std::string_view name, char kind, std::size_t size) {
  constexpr std::size_t kMode = 100, kUid = 108, kGid = 116, kSize = 124, kTime = 136, kSum = 148, kKind = 156,
                        kMagic = 257;
  constexpr std::string_view kUstar("ustar\00000", 8);
  std::string header(kBlock, '\0');
  name = name.substr(0, kNameBytes);
  std::copy(name.begin(), name.end(), header.begin());
  put_octal(header, kMode, 7, 0644);
  put_octal(header, kUid, 7, 0);
  put_octal(header, kGid, 7, 0);
  put_octal(header, kSize, 11, size);
  put_octal(header, kTime, 11, 0);
  header[kKind] = kind;
  std::copy(kUstar.begin(), kUstar.end(), header.begin() + kMagic);
  std::uint64_t sum = 8 * std::uint64_t{' '};  // the sum counts its own field as blanks
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_octal(header, kSum, 6, sum);
  header[kSum + 7] = ' ';
  out.add(header);
}

// A record of an extended header: its length, which counts itself, a name and a value.
std::string record(std::string_view name, std::string_view value) {
  const std::size_t rest = name.size() + value.size() + 3;
  std::size_t length = rest;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return std::to_string(length) + ' ' + std::string(name) + '=' + std::string(value) + '\n';
}

}  // namespace

std::string write_archive(const CaptureFiles& files) {
  Compressor out;
  for (const auto& [path, content] : files) {
    if (path.size() > kNameBytes) {
      const std::string extended = record("path", path);
      add_header(out, "long-path", 'x', extended.size());
      add_padded(out, extended);
    }
    add_header(out, path, '0', content.size());
    add_padded(out, content);
  }
  out.add(std::string(2 * kBlock, '\0'));
  return out.finish();
}

}  // namespace igpu::exporter
