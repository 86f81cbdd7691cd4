// SPDX-License-Identifier: Apache-2.0
#include "server/service/logging.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "platform/own_process.h"
#include "platform/thread.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

std::string_view name_of(LogLevel level) {
  constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warn", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::ranges::any_of(text, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= ' ' || byte == '"' || byte == '=' || byte == '\\' || byte >= 0x7f;
         });
}

// The escapes that JSON and logfmt share. What a terminal would execute is escaped as well: a name may hold anything.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char32_t character = take_character(text);
    constexpr std::string_view kSpecial = "\"\\\n\r\t", kLetters = "\"\\nrt";
    const std::size_t special = character < 0x80 ? kSpecial.find(static_cast<char>(character)) : kSpecial.npos;
    if (special != kSpecial.npos)
      out.append({'\\', kLetters[special]});
    else if (is_unsafe(character))
      out += formatted("\\u%04x", static_cast<unsigned>(character) & 0xffffU);
    else
      append_character(out, character);
  }
  out += '"';
}

void append_value(std::string& out, std::string_view text) {
  if (needs_quotes(text)) {
    append_quoted(out, text);
  } else {
    out += text;
  }
}

std::string now_text() { return time_text(std::chrono::system_clock::now()); }

constexpr std::size_t kQueueLimit = 256U << 10;  // bytes of lines that wait for the writer

}  // namespace

std::string format_log_line(LogFormat format, std::string_view timestamp, LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields) {
  std::string line;
  line.reserve(256);
  if (format == LogFormat::logfmt) {
    line.append("ts=").append(timestamp).append(" level=").append(name_of(level)).append(" msg=");
    append_value(line, message);
    for (const LogField& field : fields) {
      line.append(" ").append(field.key).append("=");
      append_value(line, field.value);
    }
  } else {
    line.append("{\"ts\":\"").append(timestamp).append("\",\"level\":\"").append(name_of(level)).append("\",\"msg\":");
    append_quoted(line, message);
    for (const LogField& field : fields) {
      line += ',';
      append_quoted(line, field.key);
      line += ':';
      append_quoted(line, field.value);
    }
    line += '}';
  }
  line += '\n';
  return line;
}

struct StderrLog::Queue {
  mutable std::mutex mutex;
  std::condition_variable more;  // lines, or ending
  std::condition_variable progress;
  std::deque<std::string> lines;
  std::size_t bytes = 0;  // of lines, and of the one that is being written
  bool writing = false;
  bool held = false;
  bool in_background = false;
  bool ending = false;
  std::uint64_t attempts = 0;  // lines that the writer has written, or tried to
  std::uint64_t dropped = 0;
  std::uint64_t unreported = 0;                      // dropped lines that no line has reported yet
  std::function<std::string(std::uint64_t)> report;  // that line

  bool empty() const { return lines.empty() && !writing; }

  void push(std::string line) {
    bytes += line.size();
    lines.push_back(std::move(line));
    more.notify_one();
  }

  bool has_room_for(std::size_t size) const { return bytes + size <= kQueueLimit; }

  // The report takes the place of the lines that were dropped.
  void report_gap() {
    if (unreported == 0) return;
    push(report(unreported));
    unreported = 0;
  }
};

StderrLog::StderrLog(LogLevel level, LogFormat format)
    : level_(level), format_(format), queue_(std::make_shared<Queue>()) {
  queue_->report = [format](std::uint64_t count) {
    return format_log_line(format, now_text(), LogLevel::warn,
                           "log lines were dropped: standard error is not read fast enough",
                           {{"count", std::to_string(count)}, {"hint", "check what reads standard error"}});
  };
}

StderrLog::~StderrLog() { finish(); }

void StderrLog::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (level < level_) return;
  std::string line = format_log_line(format_, now_text(), level, message, fields);
  const std::lock_guard lock(queue_->mutex);
  if (queue_->held) {
    queue_->push(std::move(line));
  } else if (!queue_->in_background) {
    queue_->dropped += write_to_stderr(line) ? 0 : 1;
  } else if (queue_->ending || !queue_->has_room_for(line.size())) {
    ++queue_->dropped;
    ++queue_->unreported;
  } else {
    queue_->report_gap();
    queue_->push(std::move(line));
  }
}

void StderrLog::hold() {
  const std::lock_guard lock(queue_->mutex);
  queue_->held = true;
}

void StderrLog::release() {
  const std::lock_guard lock(queue_->mutex);
  queue_->held = false;
  if (queue_->in_background) return;
  queue_->in_background = true;
  writer_ = std::thread([queue = queue_] { write_lines(queue); });
}

void StderrLog::write_lines(const std::shared_ptr<Queue>& queue) {
  name_thread("log");
  block_all_signals();  // with SIGPIPE: an unread log must not end the program
  std::unique_lock lock(queue->mutex);
  for (;;) {
    queue->more.wait(lock, [&] { return queue->ending || !queue->lines.empty(); });
    if (queue->lines.empty()) return;
    const std::string line = std::move(queue->lines.front());
    queue->lines.pop_front();
    queue->writing = true;
    lock.unlock();
    const bool written = write_to_stderr(line);
    lock.lock();
    queue->writing = false;
    queue->bytes -= line.size();
    ++queue->attempts;
    if (!written) ++queue->dropped;
    // A gap is reported as soon as the lines before it are written, not when the next line comes.
    if (written && queue->lines.empty()) queue->report_gap();
    queue->progress.notify_all();
  }
}

void StderrLog::finish(std::chrono::milliseconds timeout) {
  if (!writer_.joinable()) return;
  bool stuck = false;
  {
    std::unique_lock lock(queue_->mutex);
    queue_->ending = true;
    queue_->more.notify_all();
    while (!stuck && !queue_->empty()) {
      const std::uint64_t before = queue_->attempts;
      stuck = !queue_->progress.wait_for(lock, timeout, [&] { return queue_->empty() || queue_->attempts != before; });
    }
  }
  if (stuck) {
    writer_.detach();  // it owns what it uses, and ends with the process
  } else {
    writer_.join();
  }
}

std::uint64_t StderrLog::dropped() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->dropped;
}

}  // namespace igpu::exporter
