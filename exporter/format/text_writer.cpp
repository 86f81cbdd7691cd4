// SPDX-License-Identifier: Apache-2.0
#include "format/text_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace igpu::exporter {
namespace {

// The text before each label value of a family, with the closing quote of the previous value: `",gt="`. Built once per
// family and copied for each sample.
class LabelPieces {
 public:
  explicit LabelPieces(const MetricDescriptor& metric) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < metric.label_count; ++i) {
      text_ += "\",";
      text_ += metric.label_names[i];
      text_ += "=\"";
      ends_[i] = end = text_.size();
    }
    total_ = end;
  }
  std::string_view piece(std::size_t label) const {
    const std::size_t begin = label == 0 ? 0 : ends_[label - 1];
    return std::string_view(text_).substr(begin, ends_[label] - begin);
  }
  std::size_t total_size() const { return total_; }

 private:
  std::string text_;
  std::array<std::size_t, kMaxLabels> ends_{};
  std::size_t total_ = 0;
};

}  // namespace

void TextWriter::grow(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(at_ - out_.data());
  out_.resize((used + bytes) * 2);
  out_.resize(out_.capacity());
  at_ = out_.data() + used;
  end_ = out_.data() + out_.size();
}

void TextWriter::put_number(double value) {
  constexpr double kInt64Range = 9223372036854775808.0;  // 2^63
  if (value > -kInt64Range && value < kInt64Range && value == static_cast<double>(static_cast<std::int64_t>(value))) {
    at_ = std::to_chars(at_, at_ + kNumberSize, static_cast<std::int64_t>(value)).ptr;
  } else if (std::isfinite(value)) {
    at_ = std::to_chars(at_, at_ + kNumberSize, value).ptr;
  } else {
    put(std::isnan(value) ? std::string_view("NaN") : value > 0 ? std::string_view("+Inf") : std::string_view("-Inf"));
  }
}

void write_samples(TextWriter& writer, const PageView::Family& family) {
  const MetricDescriptor& metric = *family.metric;
  const LabelPieces pieces(metric);
  constexpr std::size_t kSeparators = 4;  // closing quote and brace, blank, newline
  const std::size_t fixed = metric.name.size() + pieces.total_size() + kSeparators + TextWriter::kNumberSize;

  for (const PageView::Entry& entry : family.entries) {
    std::array<std::string_view, kMaxLabels> values;
    std::size_t size = fixed;
    for (std::size_t i = 0; i < metric.label_count; ++i) {
      values[i] = entry.list->label_value(*entry.sample, i);
      size += 2 * values[i].size();
    }
    writer.ensure(size);

    writer.put(metric.name);
    bool labelled = false;
    for (std::size_t i = 0; i < metric.label_count; ++i) {
      if (values[i].empty()) continue;
      if (labelled) {
        writer.put(pieces.piece(i));
      } else {
        labelled = true;
        writer.put('{');
        writer.put(pieces.piece(i).substr(2));
      }
      writer.put_escaped(values[i], true);
    }
    if (labelled) writer.put("\"}");
    writer.put(' ');
    writer.put_number(entry.sample->value);
    writer.put('\n');
  }
}

}  // namespace igpu::exporter
