// SPDX-License-Identifier: Apache-2.0
#include "server/service/logging.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace igpu;
using exporter::format_log_line;
using exporter::LogFormat;
using exporter::StderrLog;

namespace {

// Standard error as a pipe of one page, while it exists.
class PipedStderr {
 public:
  PipedStderr() : kept_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    REQUIRE(::fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    REQUIRE(::dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    ::close(ends[1]);
    end_ = ends[0];
  }
  ~PipedStderr() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
    close_end();
  }
  PipedStderr(const PipedStderr&) = delete;
  PipedStderr& operator=(const PipedStderr&) = delete;

  void close_end() {
    if (end_ >= 0) ::close(end_);
    end_ = -1;
  }

  // Fills the pipe, through an opening of its own: the other one stays as it is.
  static void fill() {
    const int other = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(other >= 0);
    const std::string line = std::string(63, '.') + '\n';
    while (::write(other, line.data(), line.size()) > 0) {
    }
    ::close(other);
  }

  // The messages of the next lines, until one contains that.
  std::vector<std::string> read_until(const std::string& last) {
    std::vector<std::string> lines;
    while (lines.empty() || lines.back().find(last) == std::string::npos) {
      const std::size_t end = text_.find('\n');
      if (end == std::string::npos) {
        char buffer[4096];
        const ssize_t size = ::read(end_, buffer, sizeof buffer);
        REQUIRE(size > 0);
        text_.append(buffer, static_cast<std::size_t>(size));
        continue;
      }
      if (text_[0] != '.') lines.push_back(text_.substr(0, end));
      text_.erase(0, end + 1);
    }
    return lines;
  }

 private:
  int kept_;
  int end_ = -1;
  std::string text_;
};

std::string number_of(const std::string& line) {
  const std::size_t at = line.find("number=");
  return at == std::string::npos ? "" : line.substr(at + 7);
}

}  // namespace

TEST_SUITE_BEGIN("logging");

TEST_CASE("logfmt quotes where necessary") {
  CHECK(format_log_line(LogFormat::logfmt, "T", LogLevel::warn, "no GPU",
                        {{"device", "0000:03:00.0"}, {"hint", "a=b \"c\""}, {"empty", ""}}) ==
        "ts=T level=warn msg=\"no GPU\" device=0000:03:00.0 hint=\"a=b \\\"c\\\"\" empty=\"\"\n");
  CHECK(format_log_line(LogFormat::logfmt, "T", LogLevel::info, "listening", {}) == "ts=T level=info msg=listening\n");
}

TEST_CASE("JSON lines are valid JSON") {
  CHECK(format_log_line(LogFormat::json, "T", LogLevel::error, "it \"broke\"", {{"path", "a\\b\tc\x01"}}) ==
        "{\"ts\":\"T\",\"level\":\"error\",\"msg\":\"it \\\"broke\\\"\",\"path\":\"a\\\\b\\tc\\u0001\"}\n");
}

TEST_CASE("a hostile value cannot forge a line") {
  for (const LogFormat format : {LogFormat::logfmt, LogFormat::json}) {
    const std::string line =
        format_log_line(format, "T", LogLevel::info, "x", {{"comm", "a\nts=T level=error msg=forged\r\x1b[2J"}});
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(line.find('\r') == std::string::npos);
    CHECK(line.find('\x1b') == std::string::npos);
  }
  CHECK(format_log_line(LogFormat::logfmt, "T", LogLevel::info, "x", {{"comm", "\x9b\xc2\x9b\xe2\x80\xae"}}) ==
        "ts=T level=info msg=x comm=\"\xef\xbf\xbd\\u009b\\u202e\"\n");
}

TEST_CASE("held lines are written first and in order; those of a failed start are discarded") {
  PipedStderr pipe;
  {
    StderrLog log(LogLevel::info, LogFormat::logfmt);
    log.hold();
    log.write(LogLevel::info, "never", {});
  }
  StderrLog log(LogLevel::info, LogFormat::logfmt);
  log.write(LogLevel::info, "x", {{"number", "at once"}});
  log.hold();
  for (int i = 0; i < 5; ++i) log.write(LogLevel::info, "x", {{"number", std::to_string(i)}});
  log.write(LogLevel::debug, "below the level", {});
  log.release();
  log.write(LogLevel::info, "x", {{"number", "last"}});
  std::string numbers;
  for (const std::string& line : pipe.read_until("number=last")) numbers += number_of(line) + ",";
  CHECK(numbers == "\"at once\",0,1,2,3,4,last,");
  CHECK(log.dropped() == 0);
}

TEST_CASE(
    "nobody who logs waits for a reader: what finds no room is dropped, counted and reported where it is missing") {
  PipedStderr pipe;
  StderrLog log(LogLevel::info, LogFormat::logfmt);
  log.release();
  pipe.fill();
  const std::string filler(1000, 'x');
  int written = 0;
  while (log.dropped() < 7) log.write(LogLevel::info, filler, {{"number", std::to_string(written++)}});
  CHECK(written > 100);
  CHECK(written < 400);  // bounded
  const int kept = written - 7;
  std::vector<std::string> lines = pipe.read_until("count=7");
  REQUIRE(lines.size() == static_cast<std::size_t>(kept) + 1);
  for (int i = 0; i < kept; ++i) CHECK(number_of(lines[static_cast<std::size_t>(i)]) == std::to_string(i));
  CHECK(lines.back().find("level=warn msg=\"log lines were dropped") != std::string::npos);
  log.write(LogLevel::info, "x", {{"number", "behind"}});
  lines = pipe.read_until("number=behind");
  CHECK(lines.size() == 1);
  CHECK(log.dropped() == 7);
  CHECK((::fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a gap is reported before the lines that follow it") {
  PipedStderr pipe;
  StderrLog log(LogLevel::info, LogFormat::json);
  log.release();
  pipe.fill();
  const std::string filler(60'000, 'x');
  while (log.dropped() < 1) log.write(LogLevel::info, filler, {});
  std::thread reader([&] { (void)pipe.read_until("\"number\":\"behind\""); });
  std::uint64_t before = 0;
  do {  // until there is room again
    before = log.dropped();
    log.write(LogLevel::info, filler, {{"number", "behind"}});
  } while (log.dropped() != before);
  reader.join();
  log.finish();
}

TEST_CASE("the end writes the remaining lines and does not wait forever") {
  PipedStderr pipe;
  {
    StderrLog log(LogLevel::info, LogFormat::logfmt);
    log.release();
    for (int i = 0; i < 10; ++i) log.write(LogLevel::info, "x", {{"number", std::to_string(i)}});
  }
  CHECK(pipe.read_until("number=9").size() == 10);
  {
    StderrLog log(LogLevel::info, LogFormat::logfmt);
    log.release();
    pipe.fill();
    log.write(LogLevel::info, "x", {{"number", "stuck"}});
    log.finish(std::chrono::milliseconds(1));
    log.write(LogLevel::info, "x", {{"number", "late"}});
    CHECK(log.dropped() == 1);
  }
  (void)pipe.read_until("number=stuck");  // the writer holds what it needs
}

TEST_CASE("a log without a reader ends nothing, and its lines are counted") {
  PipedStderr pipe;
  StderrLog log(LogLevel::info, LogFormat::logfmt);
  log.release();
  pipe.close_end();
  log.write(LogLevel::info, "x", {});
  while (log.dropped() < 1) std::this_thread::yield();
  log.write(LogLevel::info, "x", {});
  log.finish();
  CHECK(log.dropped() == 2);
}

TEST_SUITE_END();
