// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "igpu/words.h"
#include "text/text.h"
#include "view/client/http_fetcher.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool is_name_character(char c) { return is_letter_or_digit(c) || c == '_' || c == ':'; }

std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  return number_of<double>(text);
}

// Reads one line. Values with an escape are unescaped into memory of this object, so it serves one sample at a time.
class LineReader {
 public:
  // False: the line is no sample.
  bool read(std::string_view line, TextSample& sample) {
    rest_ = line;
    count_ = 0;
    unescaped_.clear();
    unescaped_.reserve(line.size());  // views into it stay valid
    sample.metric = name();
    if (sample.metric.empty()) return false;
    skip_blanks();
    if (skip_if('{') && !read_labels()) return false;
    sample.labels = {labels_.data(), count_};
    skip_blanks();
    const std::optional<double> value = number(word());
    if (!value) return false;
    sample.value = *value;
    // A timestamp may follow, and in OpenMetrics an exemplar.
    const std::string_view timestamp = word();
    return timestamp.empty() || timestamp == "#" || number(timestamp).has_value();
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }
  bool skip_if(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view name() {
    std::size_t length = 0;
    while (length < rest_.size() && is_name_character(rest_[length])) ++length;
    if (length > 0 && is_digit(rest_[0])) return {};
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  std::string_view word() {
    skip_blanks();
    const std::size_t length = std::min(rest_.find_first_of(kBlanks), rest_.size());
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }

  bool read_labels() {
    for (;;) {
      skip_blanks();
      if (skip_if('}')) return true;
      LabelPair pair{name(), {}};
      if (pair.name.empty()) return false;
      skip_blanks();
      if (!skip_if('=')) return false;
      skip_blanks();
      if (!read_value(pair.value)) return false;
      if (count_ == labels_.size()) return false;
      labels_[count_++] = pair;
      skip_blanks();
      if (skip_if('}')) return true;
      if (!skip_if(',')) return false;
    }
  }

  bool read_value(std::string_view& value) {
    if (!skip_if('"')) return false;
    const std::size_t plain = rest_.find_first_of("\"\\");
    if (plain == std::string_view::npos) return false;
    if (rest_[plain] == '"') {
      value = rest_.substr(0, plain);
      rest_.remove_prefix(plain + 1);
      return true;
    }
    const std::size_t begin = unescaped_.size();
    for (;;) {
      const std::size_t special = rest_.find_first_of("\"\\");
      if (special == std::string_view::npos) return false;
      unescaped_.append(rest_.substr(0, special));
      const bool ends = rest_[special] == '"';
      rest_.remove_prefix(special + 1);
      if (ends) break;
      if (rest_.empty()) return false;
      const char c = rest_.front();
      if (c != 'n' && c != '\\' && c != '"') return false;
      unescaped_ += c == 'n' ? '\n' : c;
      rest_.remove_prefix(1);
    }
    value = std::string_view(unescaped_).substr(begin);
    return true;
  }

  std::string_view rest_;
  std::string unescaped_;
  std::array<LabelPair, kMaxParsedLabels> labels_;
  std::size_t count_ = 0;
};

}  // namespace

ParsedExposition parse_exposition(std::string_view text, const SampleHandler& use) {
  ParsedExposition parsed;
  LineReader reader;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty() || line.front() == '#') continue;
    TextSample sample;
    if (reader.read(line, sample)) {
      ++parsed.samples;
      use(sample);
    } else {
      ++parsed.malformed_lines;
    }
  }
  return parsed;
}

}  // namespace igpu::exporter
