// SPDX-License-Identifier: Apache-2.0
#include "service/logging.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace igpu::exporter {
namespace {

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warn: return "warn";
    case LogLevel::error: return "error";
  }
  return "error";
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::any_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= ' ' || byte == '"' || byte == '=' || byte == '\\' || byte == 0x7f;
         });
}

// The escapes that JSON and logfmt share.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          char escape[8];
          std::snprintf(escape, sizeof escape, "\\u%04x", byte);
          out += escape;
        } else {
          out += c;
        }
    }
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

std::string now_utc() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm utc{};
  ::gmtime_r(&now.tv_sec, &utc);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + size, sizeof text - size, ".%03ldZ", now.tv_nsec / 1'000'000);
  return text;
}

// A log that cannot be written has nobody to be told to.
void write_to_stderr(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

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

void StderrLog::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (level < level_) return;
  const std::string line = format_log_line(format_, now_utc(), level, message, fields);
  const std::lock_guard lock(mutex_);
  if (held_) {
    kept_ += line;
  } else {
    write_to_stderr(line);
  }
}

void StderrLog::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void StderrLog::release() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  if (!kept_.empty()) write_to_stderr(kept_);
  kept_.clear();
}

}  // namespace igpu::exporter
