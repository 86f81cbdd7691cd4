// SPDX-License-Identifier: Apache-2.0
#include "view/format/text_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

namespace igpu::exporter {
namespace {

// Appends to a string that the caller reuses between scrapes. While the writer exists the string is resized to its
// capacity, so that bytes are stored without a check each; finish() truncates it to the bytes written.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) {
    const std::size_t used = out.size();
    out_.resize(out_.capacity());
    at_ = out_.data() + used;
    end_ = out_.data() + out_.size();
  }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  // Reserves space; the calls below must not write more than was reserved.
  void ensure(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) grow(bytes);
  }
  void put(char c) { *at_++ = c; }
  void put(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  template <class... Texts>
  void put_all(const Texts&... texts) {
    (put(texts), ...);
  }
  // Escapes backslash, newline and, if requested, the quote with a backslash: at most twice the size.
  void put_escaped(std::string_view text, bool escape_quote) {
    if (!needs_escape(text)) return put(text);
    for (const char c : text) {
      if (c == '\\' || (escape_quote && c == '"')) {
        put('\\');
        put(c);
      } else if (c == '\n') {
        put('\\');
        put('n');
      } else {
        put(c);
      }
    }
  }
  // Integers without a decimal point, all others in the shortest form that parses to the same value. At most
  // kNumberSize bytes.
  void put_number(double value) {
    if (std::isfinite(value)) {
      at_ = write_number(at_, value);
    } else {
      put(std::isnan(value) ? std::string_view("NaN")
          : value > 0       ? std::string_view("+Inf")
                            : std::string_view("-Inf"));
    }
  }
  void put_count(std::uint64_t count) { at_ = std::to_chars(at_, at_ + kNumberSize, count).ptr; }  // likewise

  void finish() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

 private:
  void grow(std::size_t bytes) {
    const auto used = static_cast<std::size_t>(at_ - out_.data());
    out_.resize((used + bytes) * 2);
    out_.resize(out_.capacity());
    at_ = out_.data() + used;
    end_ = out_.data() + out_.size();
  }

  std::string& out_;
  char* at_;
  char* end_;
};

// The text before each label value of a family, with the closing quote of the previous value: `",gt="`. Built once per
// family and copied for each sample.
class LabelPieces {
 public:
  explicit LabelPieces(const MetricDescriptor& metric) {
    constexpr std::size_t kUsual = 96;
    text_.reserve(kUsual);
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

// The label values of one sample.
struct Labels {
  std::array<std::string_view, kMaxLabels> values;
  std::size_t most = 0;  // that they need, if each character is escaped
  bool plain = false;    // none of them has a character to escape

  void read(const MetricDescriptor& metric, const PageView::Entry& entry) {
    // A list keeps them next to each other, so that all of them can be looked through at once.
    std::size_t size = 0;
    bool adjacent = true;
    for (std::size_t i = 0; i < metric.label_count; ++i) {
      values[i] = entry.list->label_value(*entry.sample, i);
      adjacent = adjacent && values[i].data() == values[0].data() + size;
      size += values[i].size();
    }
    most = 2 * size;
    plain = adjacent && !needs_escape({values[0].data(), size});
  }
};

// Writes the labels without the last one's closing quote. Returns whether there are any.
bool put_labels(TextWriter& writer, const MetricDescriptor& metric, const LabelPieces& pieces, const Labels& labels) {
  bool labelled = false;
  for (std::size_t i = 0; i < metric.label_count; ++i) {
    const std::string_view value = labels.values[i];
    if (value.empty()) continue;
    if (labelled) {
      writer.put(pieces.piece(i));
    } else {
      labelled = true;
      writer.put_all('{', pieces.piece(i).substr(2));
    }
    if (labels.plain) {
      writer.put(value);
    } else {
      writer.put_escaped(value, true);
    }
  }
  return labelled;
}

// The labels are written once for each series and copied for each of its buckets.
void write_histograms(TextWriter& writer, const PageView::Family& family) {
  const MetricDescriptor& metric = *family.metric;
  const LabelPieces pieces(metric);
  std::vector<std::string> ends;  // of a bucket's labels
  for (const double bound : metric.bounds) ends.push_back("le=\"" + bound_text(bound) + "\"} ");
  ends.push_back("le=\"+Inf\"} ");

  Labels values;
  std::string labels;
  for (const PageView::Entry& entry : family.entries) {
    values.read(metric, entry);
    labels.clear();
    TextWriter label_writer(labels);
    label_writer.ensure(values.most + pieces.total_size());
    const bool labelled = put_labels(label_writer, metric, pieces, values);
    label_writer.finish();

    constexpr std::size_t kRest = 64;  // suffix, le, quotes and braces, value, newline
    const std::size_t line = metric.name.size() + labels.size() + kRest + kNumberSize;
    const auto put_name = [&](std::string_view suffix) {
      writer.ensure(line);
      writer.put_all(metric.name, suffix, labels);
    };
    std::uint64_t cumulative = 0;
    const std::span<const std::uint64_t> counts = entry.list->bucket_counts(*entry.sample);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      cumulative += counts[i];
      put_name("_bucket");
      writer.put_all(labelled ? "\"," : "{", ends[i]);
      writer.put_count(cumulative);
      writer.put('\n');
    }
    const std::string_view end = labelled ? "\"} " : " ";
    put_name("_sum");
    writer.put(end);
    writer.put_number(entry.sample->value);
    writer.put('\n');
    put_name("_count");
    writer.put(end);
    writer.put_count(cumulative);
    writer.put('\n');
  }
}

// Writes the sample lines of one family. Labels without a value are omitted.
void write_samples(TextWriter& writer, const PageView::Family& family) {
  if (family.metric->kind == Kind::histogram) return write_histograms(writer, family);
  const MetricDescriptor& metric = *family.metric;
  const LabelPieces pieces(metric);
  constexpr std::size_t kSeparators = 4;  // closing quote and brace, blank, newline
  const std::size_t fixed = metric.name.size() + pieces.total_size() + kSeparators + kNumberSize;

  Labels labels;
  for (const PageView::Entry& entry : family.entries) {
    labels.read(metric, entry);
    writer.ensure(fixed + labels.most);
    writer.put(metric.name);
    if (put_labels(writer, metric, pieces, labels)) writer.put("\"}");
    writer.put(' ');
    writer.put_number(entry.sample->value);
    writer.put('\n');
  }
}

// The name in the metadata: without _total (counter) or _info (info).
std::string_view family_name(const MetricDescriptor& metric) {
  std::string_view name = metric.name;
  const std::string_view suffix = metric.kind == Kind::counter ? "_total" : metric.kind == Kind::info ? "_info" : "";
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

// A unit that is not the suffix of the family's name is an error, as is a unit of an info.
bool may_state_unit(const MetricDescriptor& metric, std::string_view family) {
  const std::string_view unit = metric.unit;
  return !unit.empty() && metric.kind != Kind::info && family.size() > unit.size() + 1 && family.ends_with(unit) &&
         family[family.size() - unit.size() - 1] == '_';
}

}  // namespace

std::string bound_text(double bound) {
  char digits[kNumberSize];
  const auto written = [&](std::chars_format format) {
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, bound, format).ptr);
  };
  const double size = std::fabs(bound);
  if (size != 0 && (size < 1e-4 || size >= 1e6)) return written(std::chars_format::scientific);
  std::string text = written(std::chars_format::fixed);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string_view openmetrics_type(Kind kind) {
  switch (kind) {
    case Kind::counter: return "counter";
    case Kind::gauge: return "gauge";
    case Kind::info: return "info";
    case Kind::histogram: return "histogram";
  }
  return "unknown";
}

void write_openmetrics(const PageView& page, std::string& out) {
  TextWriter writer(out);
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    const std::string_view name = family_name(metric);
    writer.ensure(3 * name.size() + metric.unit.size() + 2 * metric.help.size() + 64);
    writer.put_all("# TYPE ", name, ' ', openmetrics_type(metric.kind));
    if (may_state_unit(metric, name)) writer.put_all("\n# UNIT ", name, ' ', metric.unit);
    writer.put_all("\n# HELP ", name, ' ');
    writer.put_escaped(metric.help, true);
    writer.put('\n');
    write_samples(writer, family);
  }
  writer.ensure(8);
  writer.put("# EOF\n");
  writer.finish();
}

void write_prometheus_text(const PageView& page, std::string& out) {
  TextWriter writer(out);
  for (const PageView::Family& family : page.families()) {
    const MetricDescriptor& metric = *family.metric;
    writer.ensure(2 * metric.name.size() + 2 * metric.help.size() + 64);
    writer.put_all("# HELP ", metric.name, ' ');
    writer.put_escaped(metric.help, false);
    writer.put_all("\n# TYPE ", metric.name, ' ');
    writer.put_all(openmetrics_type(metric.kind == Kind::info ? Kind::gauge : metric.kind), '\n');
    write_samples(writer, family);
  }
  writer.finish();
}

}  // namespace igpu::exporter
