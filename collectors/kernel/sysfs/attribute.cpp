// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/attribute.h"

#include <array>
#include <cerrno>

#include "base/scan.h"

namespace igpu {
namespace {

Failure malformed(const std::string& path) { return {std::make_error_code(std::errc::bad_message), path}; }

template <class Integer>
Reading<Integer> number_of(Attribute& attribute) {
  std::array<char, 128> buffer;
  const auto text = attribute.text(buffer);
  if (!text) return text.propagate<Integer>();
  const auto value = scan_integer<Integer>(*text);
  if (!value) return malformed(attribute.path());
  return *value;
}

}  // namespace

Reading<std::string_view> Attribute::text(std::span<char> buffer) {
  if (never_) return *never_;
  if (!file_) {
    auto opened = root_->open(path_);
    if (!opened) {
      if (opened.is_absent() && opened.absent().reason != Reason::permission) never_ = opened.absent();
      return opened.propagate<std::string_view>();
    }
    file_ = std::move(*opened);
  }
  const auto content = file_->read(buffer);
  if (!content) {
    // Whatever the cause, a new descriptor may succeed next time.
    if (content.is_failure() || content.absent().os_error == ENODEV) file_.reset();
    if (content.is_failure()) return Failure{content.failure().code, path_};
    return content;
  }
  const std::string_view text = trim(*content);
  if (text.empty()) return malformed(path_);
  return text;
}

Reading<std::uint64_t> Attribute::number() { return number_of<std::uint64_t>(*this); }
Reading<std::int64_t> Attribute::signed_number() { return number_of<std::int64_t>(*this); }

bool file_exists(const Directory& root, const std::string& path) { return static_cast<bool>(root.stat(path)); }

}  // namespace igpu
