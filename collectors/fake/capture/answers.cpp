// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/answers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/scan.h"
#include "machine/linux_errors.h"

namespace igpu::capture {
namespace {

constexpr std::string_view kFormat = "intel-gpu-exporter capture, format 1";
constexpr std::size_t kMostPasses = 1000;

// What the index says of each kind of answer, in this order.
struct Form {
  std::string_view kind;
  bool reason = false, error = false, text = false, names = false, numbers = false;
};
constexpr std::array<Form, 10> kForms{{{.kind = "content"},
                                       {.kind = "cut"},
                                       {.kind = "done"},
                                       {.kind = "names", .names = true},
                                       {.kind = "link", .text = true},
                                       {.kind = "name", .text = true},
                                       {.kind = "numbers", .numbers = true},
                                       {.kind = "absent", .reason = true, .error = true},
                                       {.kind = "failure", .error = true, .text = true},
                                       {.kind = "named", .text = true, .numbers = true}}};
constexpr std::array<Reason, 5> kReasons{Reason::permission, Reason::kernel, Reason::hardware, Reason::suspended,
                                         Reason::disabled};

// Words of an index are separated by blanks, so they have none; an empty one is "-".
std::string escaped(std::string_view text) {
  if (text == "-") return "%2d";
  if (text.empty()) return "-";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%')
      out += c;
    else
      out += '%' + hexadecimal(byte, 2);
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view word) {
  if (word == "-") return std::string();
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      out += word[i];
      continue;
    }
    const auto byte = i + 2 < word.size() ? scan_integer<std::uint8_t>(word.substr(i + 1, 2), 16) : std::nullopt;
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

// Where the content is that answers a question.
std::string path_of_content(std::string_view question) {
  const std::string_view word = word_of(question);
  return word == "read" ? std::string(about_of(question)) : std::string(word) + "/" + std::string(about_of(question));
}

void append_line(std::string& out, const std::string& question, const Answer& answer) {
  const Form& form = kForms[static_cast<std::size_t>(answer.kind)];
  out += std::to_string(answer.at.count()) + ' ' + std::string(word_of(question)) + ' ' + escaped(about_of(question)) +
         ' ' + std::string(form.kind);
  if (form.reason) out += ' ' + std::string(to_string(answer.reason));
  if (form.error) out += ' ' + std::to_string(linux_number(answer.error));
  if (form.text) out += ' ' + escaped(answer.text);
  if (form.names)
    for (const std::string& name : answer.names) out += ' ' + escaped(name);
  if (form.numbers)
    for (const std::uint64_t number : answer.numbers) out += ' ' + std::to_string(number);
  out += '\n';
}

// The words of one line of an index.
class Line {
 public:
  Line(std::string_view text, std::string where) : rest_(text), where_(std::move(where)) {}

  bool ended() const { return rest_.empty(); }
  std::string_view word() {
    const std::string_view word = take_until(rest_, ' ');
    if (word.empty()) fail("a word is missing");
    return word;
  }
  std::string text() {
    auto text = unescaped(word());
    if (!text) fail("a word is not escaped correctly");
    return *std::move(text);
  }
  template <class T>
  T number() {
    const auto number = scan_integer<T>(word());
    if (!number) fail("a number is expected");
    return *number;
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw CaptureError("it is not a capture that this version reads: " + where_ + ": " + std::string(what));
  }

 private:
  std::string_view rest_;
  std::string where_;
};

void read_line(Line& line, std::string_view folder, const CaptureFiles& files, Pass& pass) {
  Answer answer;
  answer.at = Nanoseconds(line.number<std::int64_t>());
  if (answer.at < Nanoseconds(0) || answer.at > std::chrono::hours(24)) line.fail("the time is out of range");
  const std::string_view word = line.word();
  const std::string key = question(word, line.text());
  const auto form = std::ranges::find(kForms, line.word(), &Form::kind);
  if (form == kForms.end()) line.fail("an unknown kind of answer");
  answer.kind = static_cast<AnswerKind>(form - kForms.begin());
  if (answer.has_content()) {
    if (word != "read" && word != "drm.query") line.fail("this question has no content");
    const auto file = files.find(std::string(folder) + path_of_content(key));
    if (file == files.end()) line.fail("its file is missing");
    answer.text = file->second;
  }
  if (form->reason) {
    const std::string_view reason = line.word();
    const auto known = std::ranges::find_if(kReasons, [&](Reason one) { return to_string(one) == reason; });
    if (known == kReasons.end()) line.fail("an unknown reason");
    answer.reason = *known;
  }
  if (form->error) answer.error = own_number(line.number<std::uint16_t>());
  if (form->text) answer.text = line.text();
  while (form->names && !line.ended()) answer.names.push_back(line.text());
  while (form->numbers && !line.ended()) answer.numbers.push_back(line.number<std::uint64_t>());
  if (!line.ended()) line.fail("there is more than an answer");
  if (!pass.answers.emplace(key, std::move(answer)).second) line.fail("the same question twice");
}

Pass read_pass(const std::string& folder, std::string_view index, const CaptureFiles& files) {
  Pass pass;
  std::size_t number = 0;
  while (!index.empty()) {
    const std::size_t end = index.find('\n');
    Line line(index.substr(0, end), folder + "index:" + std::to_string(++number));
    if (end == std::string_view::npos) line.fail("the line does not end");
    index.remove_prefix(end + 1);
    if (number == 1) {
      if (line.word() != "start") line.fail("\"start\" is expected");
      pass.start = Nanoseconds(line.number<std::int64_t>());
      if (pass.start < Nanoseconds(0) || pass.start > std::chrono::hours(24)) line.fail("the time is out of range");
    } else {
      read_line(line, folder, files, pass);
    }
  }
  return pass;
}

}  // namespace

std::string question(std::string_view word, std::string_view about) {
  std::string text;
  text.reserve(word.size() + about.size() + 1);
  text += word;
  text += ' ';
  return text += about;
}

std::string_view word_of(std::string_view question) { return question.substr(0, question.find(' ')); }

std::string_view about_of(std::string_view question) {
  return question.substr(std::min(question.find(' ') + 1, question.size()));
}

std::string joined(std::string_view prefix, std::string_view path) {
  std::string out(prefix);
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") (out += '/') += part;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

Answer numbers_answer(std::vector<std::uint64_t> numbers) {
  return {.kind = AnswerKind::numbers, .numbers = std::move(numbers)};
}

Answer text_answer(AnswerKind kind, std::string_view text) { return {.kind = kind, .text = std::string(text)}; }

Answer absent_answer(const Absent& absent) {
  return {.kind = AnswerKind::absent, .reason = absent.reason, .error = absent.os_error};
}

Answer failure_answer(const Failure& failure) {
  return {.kind = AnswerKind::failure, .text = failure.where, .error = failure.code.value()};
}

CaptureFiles files_of(const std::vector<Pass>& passes) {
  CaptureFiles files;
  files["capture"] = std::string(kFormat) + "\npasses " + std::to_string(passes.size()) + '\n';
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const std::string folder = std::to_string(i + 1) + '/';
    std::string& index = files[folder + "index"];
    index = "start " + std::to_string(passes[i].start.count()) + '\n';
    for (const auto& [key, answer] : passes[i].answers) {
      if (answer.has_content()) {
        const std::string path = path_of_content(key);
        if (!is_plain_path(path)) continue;  // no name in the kernel's file systems that collectors read is like that
        files[folder + path] = answer.text;
      }
      append_line(index, key, answer);
    }
  }
  return files;
}

std::vector<Pass> passes_of(const CaptureFiles& files) {
  const auto head = files.find("capture");
  if (head == files.end() || !head->second.starts_with(std::string(kFormat) + '\n'))
    throw CaptureError("it is not a capture that this version reads: its file \"capture\" does not begin with \"" +
                       std::string(kFormat) + '"');
  std::vector<Pass> passes;
  while (passes.size() < kMostPasses) {
    const std::string folder = std::to_string(passes.size() + 1) + '/';
    const auto index = files.find(folder + "index");
    if (index == files.end()) break;
    passes.push_back(read_pass(folder, index->second, files));
    const std::size_t count = passes.size();
    if (count > 1 && passes[count - 1].start < passes[count - 2].start)
      throw CaptureError("it is not a capture that this version reads: pass " + std::to_string(count) +
                         " began before the one before it");
  }
  if (passes.empty()) throw CaptureError("it is not a capture that this version reads: it has no pass");
  return passes;
}

}  // namespace igpu::capture

bool igpu::is_plain_path(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return std::ranges::none_of(path,
                              [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\'; });
}
