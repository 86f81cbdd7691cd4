// SPDX-License-Identifier: Apache-2.0
#include "support/exposition_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "support/utf8.h"

namespace igpu::test {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

// What samples of an OpenMetrics type are called beyond the family's name; "" is the bare name.
const std::map<std::string, std::vector<std::string>, std::less<>>& openmetrics_suffixes() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> kSuffixes{
      {"counter", {"_total", "_created"}},
      {"gauge", {""}},
      {"info", {"_info"}},
      {"stateset", {""}},
      {"histogram", {"_bucket", "_count", "_sum", "_created"}},
      {"gaugehistogram", {"_bucket", "_gcount", "_gsum"}},
      {"summary", {"", "_count", "_sum", "_created"}},
      {"unknown", {""}},
  };
  return kSuffixes;
}

const std::map<std::string, std::vector<std::string>, std::less<>>& prometheus_suffixes() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> kSuffixes{
      {"counter", {""}},
      {"gauge", {""}},
      {"untyped", {""}},
      {"histogram", {"_bucket", "_count", "_sum"}},
      {"summary", {"", "_count", "_sum"}},
  };
  return kSuffixes;
}

// One line, read from left to right.
class Line {
 public:
  Line(std::string_view text, std::size_t number) : rest_(text), number_(number) {}

  [[noreturn]] void fail(const std::string& what) const { throw ExpositionError(number_, what); }
  std::size_t number() const { return number_; }
  bool at_end() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  std::string_view rest() const { return rest_; }

  bool accept(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text, const char* where) {
    if (!accept(text)) fail("expected '" + std::string(text) + "' " + where);
  }

  std::string name(const char* what) {
    std::size_t n = 0;
    while (n < rest_.size() && is_name_character(rest_[n])) ++n;
    if (n == 0 || is_digit(rest_[0])) fail(std::string("bad ") + what + " name");
    return take(n);
  }

  std::string word() {
    const std::size_t n = std::min(rest_.find(' '), rest_.size());
    if (n == 0) fail("expected a word");
    return take(n);
  }

  std::string label_value() {
    expect("\"", "before a label value");
    std::string value;
    while (peek() != '"' || rest_.empty()) {
      if (at_end()) fail("label value without end");
      value += character(true);
    }
    take(1);
    return value;
  }

  std::string help(bool escaped_quotes) {
    std::string text;
    while (!at_end()) {
      if (escaped_quotes && peek() == '"') fail("quote in HELP without backslash");
      text += character(escaped_quotes);
    }
    return text;
  }

  // digits, a point, an exponent; NaN, +Inf, -Inf.
  double number_value(std::string* text) {
    const std::string token = word();
    if (text != nullptr) *text = token;
    if (token == "NaN") return std::nan("");
    if (token == "+Inf") return HUGE_VAL;
    if (token == "-Inf") return -HUGE_VAL;
    std::size_t i = token[0] == '-' ? 1 : 0;
    std::size_t digits = 0;
    while (i < token.size() && is_digit(token[i])) ++i, ++digits;
    if (i < token.size() && token[i] == '.') {
      ++i;
      while (i < token.size() && is_digit(token[i])) ++i, ++digits;
    }
    if (digits == 0) fail("bad number '" + token + "'");
    if (i < token.size() && (token[i] == 'e' || token[i] == 'E')) {
      ++i;
      if (i < token.size() && (token[i] == '+' || token[i] == '-')) ++i;
      if (i == token.size()) fail("bad number '" + token + "'");
      while (i < token.size() && is_digit(token[i])) ++i;
    }
    double value = 0;
    const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
    if (i != token.size() || result.ec != std::errc{} || result.ptr != token.data() + token.size()) {
      fail("bad number '" + token + "'");
    }
    return value;
  }

 private:
  std::string take(std::size_t n) {
    std::string text(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return text;
  }
  char character(bool quote_may_be_escaped) {
    const char c = take(1)[0];
    if (c != '\\') return c;
    const char escaped = peek();
    if (escaped == '\\' || escaped == 'n' || (escaped == '"' && quote_may_be_escaped)) {
      take(1);
      return escaped == 'n' ? '\n' : escaped;
    }
    fail("bad escape");
  }

  std::string_view rest_;
  std::size_t number_;
};

class Parser {
 public:
  explicit Parser(bool openmetrics) : openmetrics_(openmetrics) {}

  Exposition parse(std::string_view page) {
    std::size_t number = 0;
    bool ended = false;
    while (!page.empty()) {
      ++number;
      const std::size_t end = page.find('\n');
      Line line(page.substr(0, end), number);
      if (end == std::string_view::npos) line.fail("no newline at the end");
      page.remove_prefix(end + 1);
      if (!is_valid_utf8(line.rest())) line.fail("not valid UTF-8");
      if (ended) line.fail("text after # EOF");
      if (line.at_end()) line.fail("blank line");
      if (openmetrics_ && line.rest() == "# EOF") {
        ended = true;
      } else if (line.peek() == '#') {
        read_metadata(line);
      } else {
        read_sample(line);
      }
    }
    ++number;
    finish_family(number);
    if (openmetrics_ && !ended) throw ExpositionError(number, "# EOF is missing");
    return std::move(result_);
  }

 private:
  enum Metadata { kNone, kType, kUnit, kHelp };

  void read_metadata(Line& line) {
    line.expect("# ", "before metadata");
    Metadata what = kNone;
    if (line.accept("TYPE "))
      what = kType;
    else if (line.accept("HELP "))
      what = kHelp;
    else if (openmetrics_ && line.accept("UNIT "))
      what = kUnit;
    else
      line.fail("comment");

    const std::string name = line.name("family");
    line.expect(" ", "after the family's name");
    if (!in_family_ || current().name != name) start_family(line, name);
    if (!current().samples.empty()) line.fail("metadata after samples of " + name);
    if (seen_.count(what) != 0) line.fail("second " + metadata_name(what) + " of " + name);
    if (openmetrics_ && !seen_.empty() && *seen_.rbegin() > what)
      line.fail("metadata not in the order TYPE, UNIT, HELP");
    seen_.insert(what);

    if (what == kType) {
      current().type = line.word();
      if (suffixes().count(current().type) == 0) line.fail("unknown type '" + current().type + "'");
      reserve_names(line);
    } else if (what == kUnit) {
      current().unit = line.word();
      check_unit(line);
    } else {
      current().help = line.help(openmetrics_);
      if (current().help.find('\r') != std::string::npos) line.fail("carriage return in HELP");
    }
    if (!line.at_end()) line.fail("text after the " + metadata_name(what));
  }

  static std::string metadata_name(Metadata what) { return what == kType ? "TYPE" : what == kUnit ? "UNIT" : "HELP"; }

  const std::map<std::string, std::vector<std::string>, std::less<>>& suffixes() const {
    return openmetrics_ ? openmetrics_suffixes() : prometheus_suffixes();
  }

  void start_family(const Line& line, const std::string& name) {
    finish_family(line.number());
    if (result_.family(name) != nullptr) line.fail("family " + name + " is interleaved with others");
    result_.families.push_back({name, {}, {}, {}, {}});
    in_family_ = true;
    seen_.clear();
    series_.clear();
    order_.clear();
    last_label_names_.clear();
  }

  void finish_family(std::size_t line) {
    if (!in_family_) return;
    const ExpositionFamily& family = current();
    if (family.type.empty()) throw ExpositionError(line, "family " + family.name + " has no TYPE");
    if (seen_.count(kHelp) == 0) throw ExpositionError(line, "family " + family.name + " has no HELP");
    if (family.samples.empty()) throw ExpositionError(line, "family " + family.name + " has no samples");
    if (family.type == "histogram") check_histogram(family, line);
  }

  // Each series: its buckets in ascending order with counts that never fall, up to +Inf; then the sum; then the count,
  // which is that of the last bucket.
  static void check_histogram(const ExpositionFamily& family, std::size_t last_line) {
    using Labels = std::vector<ExpositionSample::Label>;
    std::optional<Labels> series;  // of the buckets read last
    double bound = -HUGE_VAL, count = 0;
    bool summed = false;
    const auto whole = [&] { return bound == HUGE_VAL; };
    for (const ExpositionSample& sample : family.samples) {
      const auto fail = [&](const std::string& what) { throw ExpositionError(sample.line, what); };
      Labels labels;
      for (const auto& label : sample.labels)
        if (label.first != "le") labels.push_back(label);
      const std::string suffix = sample.name.substr(family.name.size());
      if (suffix == "_bucket") {
        if (!series) bound = -HUGE_VAL, count = 0, summed = false;
        if (series && *series != labels) fail("a histogram without its sum and count before this one");
        series = labels;
        std::size_t at = 0;
        const std::string le(sample.label("le"));
        const double next = le == "+Inf" ? HUGE_VAL : std::stod(le, &at);
        if (le != "+Inf" && (at != le.size() || le.find_first_of(".e") == std::string::npos))
          fail("le=\"" + le + "\" is not canonical");
        if (sample.labels.back().first != "le") fail("le is not the last label");
        if (!(next > bound)) fail("buckets do not ascend");
        if (sample.value < count) fail("a bucket holds less than the one before it");
        bound = next;
        count = sample.value;
      } else if (suffix == "_sum") {
        if (series != labels || !whole() || summed) fail("a sum apart from its buckets");
        summed = true;
      } else if (suffix == "_count") {
        if (series != labels || !summed) fail("a count apart from its sum");
        if (sample.value != count) fail("the count is not that of the last bucket");
        series.reset();
      }
    }
    if (series) throw ExpositionError(last_line, "a histogram without its count");
  }

  // Two families must not be able to produce a sample of the same name.
  void reserve_names(const Line& line) {
    std::set<std::string> names{current().name};
    for (const std::string& suffix : suffixes().at(current().type)) names.insert(current().name + suffix);
    for (const std::string& name : names) {
      const auto [at, inserted] = reserved_.emplace(name, current().name);
      if (!inserted) line.fail("family " + current().name + " clashes with family " + at->second + " over " + name);
    }
    const std::string& type = current().type;
    if (openmetrics_) {
      if (type == "counter" && current().name.ends_with("_total")) line.fail("a counter family's name has no _total");
      if (type == "info" && current().name.ends_with("_info")) line.fail("an info family's name has no _info");
    } else {
      if (type == "counter" && !current().name.ends_with("_total")) line.fail("a counter's name ends in _total");
    }
    if (type != "counter" && current().name.ends_with("_total")) line.fail("only a counter's name ends in _total");
  }

  void check_unit(const Line& line) const {
    const std::string& type = current().type;
    if (type == "info" || type == "stateset") line.fail("UNIT on an " + type);
    if (!current().name.ends_with("_" + current().unit))
      line.fail("unit " + current().unit + " is not the end of the name");
  }

  void read_sample(Line& line) {
    ExpositionSample sample;
    sample.line = line.number();
    sample.name = line.name("sample");
    if (!in_family_ || !belongs_here(sample.name)) {
      const auto owner = reserved_.find(sample.name);
      const bool elsewhere = owner != reserved_.end() && owner->second != current().name;
      line.fail("sample " + sample.name +
                (elsewhere ? " apart from its family" : " without TYPE or of a wrong suffix"));
    }
    if (line.accept("{")) read_labels(line, sample);
    line.expect(" ", "before the value");
    sample.value = line.number_value(&sample.value_text);
    if (line.accept(" ")) {
      if (line.peek() == '#') line.fail("exemplar");
      std::string text;
      sample.timestamp = line.number_value(&text);
      if (!openmetrics_ && text.find_first_of(".eN") != std::string::npos) line.fail("timestamp is not an integer");
    }
    if (!line.at_end()) line.fail("text after the sample");

    check_value(line, sample);
    check_series(line, sample);
    check_label_order(line, sample);
    current().samples.push_back(std::move(sample));
  }

  bool belongs_here(const std::string& sample) const {
    if (current().type.empty()) return false;
    const auto& known = suffixes().at(current().type);
    return std::any_of(known.begin(), known.end(), [&](const std::string& s) { return sample == current().name + s; });
  }

  void read_labels(Line& line, ExpositionSample& sample) const {
    do {
      ExpositionSample::Label label;
      label.first = line.name("label");
      if (label.first[0] == '_') line.fail("label names that start with _ are reserved");
      line.expect("=", "after the label's name");
      label.second = line.label_value();
      if (label.second.empty()) line.fail("empty value of label " + label.first);
      for (const auto& other : sample.labels) {
        if (other.first == label.first) line.fail("label " + label.first + " twice");
      }
      sample.labels.push_back(std::move(label));
    } while (line.accept(","));
    line.expect("}", "after the labels");
  }

  void check_value(const Line& line, const ExpositionSample& sample) const {
    const std::string& type = current().type;
    const bool cumulative = type == "counter" || sample.name.ends_with("_bucket") || sample.name.ends_with("_count");
    if (cumulative && !(sample.value >= 0)) line.fail("a counter is never negative or NaN");
    const bool info = type == "info" || (!openmetrics_ && sample.name.ends_with("_info"));
    if (info && sample.value != 1) line.fail("an info's value is 1");
    if (type == "stateset") {
      if (sample.value != 0 && sample.value != 1) line.fail("a stateset's values are 0 and 1");
      if (sample.label(current().name).empty()) line.fail("a stateset needs a label of its own name");
    }
    if (sample.name.ends_with("_bucket") && sample.label("le").empty()) line.fail("a bucket needs le");
    if (type == "summary" && sample.name == current().name && sample.label("quantile").empty()) {
      line.fail("a summary needs quantile");
    }
  }

  void check_series(const Line& line, const ExpositionSample& sample) {
    auto labels = sample.labels;
    std::sort(labels.begin(), labels.end());
    std::string series = sample.name;
    for (const auto& [name, value] : labels) series += '\0' + name + '\0' + value;
    const auto [at, inserted] = series_.emplace(std::move(series), sample.line);
    if (!inserted) line.fail("series of line " + std::to_string(at->second) + " again");
  }

  void check_label_order(const Line& line, const ExpositionSample& sample) {
    std::vector<std::string> names;
    for (const auto& label : sample.labels) names.push_back(label.first);
    if (names == last_label_names_) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t k = i + 1; k < names.size(); ++k) {
        if (order_.count({names[k], names[i]}) != 0) line.fail("label order changes at " + names[k]);
        order_.emplace(names[i], names[k]);
      }
    }
    last_label_names_ = std::move(names);
  }

  ExpositionFamily& current() { return result_.families.back(); }
  const ExpositionFamily& current() const { return result_.families.back(); }

  bool openmetrics_;
  bool in_family_ = false;
  Exposition result_;
  std::map<std::string, std::string, std::less<>> reserved_;  // sample name -> family
  // Of the current family:
  std::set<Metadata> seen_;
  std::map<std::string, std::size_t> series_;
  std::set<std::pair<std::string, std::string>> order_;
  std::vector<std::string> last_label_names_;
};

}  // namespace

std::string_view ExpositionSample::label(std::string_view label_name) const {
  for (const auto& [name_of_label, label_value] : labels) {
    if (name_of_label == label_name) return label_value;
  }
  return {};
}

const ExpositionFamily* Exposition::family(std::string_view name) const {
  for (const ExpositionFamily& candidate : families) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

std::vector<const ExpositionSample*> Exposition::find(std::string_view name, LabelFilter labels) const {
  std::vector<const ExpositionSample*> found;
  for (const ExpositionFamily& candidate : families) {
    for (const ExpositionSample& sample : candidate.samples) {
      if (sample.name != name) continue;
      if (std::all_of(labels.begin(), labels.end(), [&](const auto& l) { return sample.label(l.first) == l.second; })) {
        found.push_back(&sample);
      }
    }
  }
  return found;
}

std::optional<double> Exposition::value(std::string_view name, LabelFilter labels) const {
  const auto found = find(name, labels);
  if (found.size() > 1) throw std::logic_error(std::string(name) + ": more than one series has these labels");
  if (found.empty()) return std::nullopt;
  return found.front()->value;
}

Exposition parse_prometheus_text(std::string_view page) { return Parser(false).parse(page); }
Exposition parse_openmetrics(std::string_view page) { return Parser(true).parse(page); }

}  // namespace igpu::test
