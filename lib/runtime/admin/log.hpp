// SPDX-License-Identifier: BSD-3-Clause
// The log: one line per event, key=value, limited per site. A site that repeats itself is cut off
// and summed up in a line of its own ("event=noise repeated=123"), so that a flood costs a few
// lines a second. A site that reports each of many objects once does not repeat itself: its callers
// bound its lines.
//
//   inline constexpr LogSite kPeerDown{LogLevel::kWarning, "peer_down", {"nid", "reason"}};
//   log.write(kPeerDown, {nid_text, "timeout"});             // the control path, any thread
//   port.post(kPeerDown, {peer_number, "timeout"});          // a poller: never blocks
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/base/ring.hpp"
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::runtime {

enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug };

// "error", "warning", "info", "debug": the words of the configuration file.
[[nodiscard]] std::string_view name_of(LogLevel level);
[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view text);

// Values that one line may carry; more is a table, not a line.
inline constexpr std::size_t kLogFieldsMax = 7;

// The part of the program that bounds the lines of a site.
enum class LogLimit : std::uint8_t {
  kLog,     // the log, by LogOptions::burst
  kCaller,  // the callers, whose source is bounded; each line is news, and none is left out
};

// One place that logs. It needs static storage, since its address is its identity.
struct LogSite {
  LogLevel level = LogLevel::kInfo;
  std::string_view event;                              // snake_case, the name of the event
  std::array<std::string_view, kLogFieldsMax> keys{};  // of the values, in order
  LogLimit limit = LogLimit::kLog;
};

// A value in a fixed place: a number or a short text. Longer texts are cut for pollers; write()
// takes strings of any length.
class LogValue {
 public:
  static constexpr std::size_t kTextMax = 30;

  LogValue() = default;
  template <std::integral T>
  LogValue(T number)  // NOLINT(google-explicit-constructor): {3, "text"} is the point
      : kind_(std::is_signed_v<T> ? Kind::kSigned : Kind::kUnsigned),
        number_(static_cast<std::uint64_t>(number)) {}
  LogValue(std::string_view text);  // NOLINT(google-explicit-constructor)
  LogValue(const char* text) : LogValue(std::string_view(text)) {}  // NOLINT

  [[nodiscard]] std::string text() const;

 private:
  enum class Kind : std::uint8_t { kSigned, kUnsigned, kText };
  Kind kind_ = Kind::kUnsigned;
  std::uint8_t length_ = 0;
  std::array<char, kTextMax> text_{};
  std::uint64_t number_ = 0;
};

struct LogRecord {
  const LogSite* site = nullptr;
  std::array<LogValue, kLogFieldsMax> values{};
};
static_assert(std::is_trivially_copyable_v<LogRecord>);

class Log;

// A poller's way into the log: a ring that the admin thread empties. One thread posts.
class LogPort {
 public:
  // Records that wait for the admin thread: a burst within one drain period of 100 ms, at a rate
  // that people can still read.
  static constexpr std::size_t kRecords = 256;

  // Never blocks, never allocates. Records that do not fit are counted, and the next drain reports
  // the count.
  void post(const LogSite& site, std::initializer_list<LogValue> values) noexcept;

 private:
  friend class Log;
  LogPort(const Log& log, unsigned shard) : ring_(kRecords), log_(log), shard_(shard) {}

  SpscRing<LogRecord> ring_;
  const Log& log_;
  std::atomic<std::uint64_t> lost_{0};  // one writer, the poller
  std::uint64_t lost_reported_ = 0;
  const unsigned shard_;
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  int descriptor = STDERR_FILENO;  // never waited for if its reader stalls; -1: none
  bool journal = false;  // the descriptor is systemd's journal: "<4>" in front, no timestamp of
                         // ours
  std::string file;      // also append to this file; "" = none
  std::function<void(std::string_view line)> capture;  // also hand each line to this
  // Text to append to a line, with a leading blank; "": nothing. Called by any thread that logs.
  std::function<std::string(std::string_view line)> annotate{};
  // Lines of a site per window; further ones are counted until the window ends.
  unsigned burst = 10;
  Duration window = std::chrono::seconds(1);
};

class Log {
 public:
  // Limit of pollers with a port.
  static constexpr std::size_t kPortsMax = 1024;

  // The clocks must outlive the log. Fails if the file cannot be opened.
  [[nodiscard]] static Outcome<std::unique_ptr<Log>> open(const LogOptions& options,
                                                          const Clock& clock,
                                                          const WallClock& wall_clock);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Any thread.
  void set_level(LogLevel level) { level_.store(level, std::memory_order_relaxed); }
  [[nodiscard]] LogLevel level() const { return level_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool wants(LogLevel level) const { return level <= this->level(); }

  // Control path, any thread; may block on the disk. Values of any length.
  void write(const LogSite& site, std::initializer_list<std::string_view> values);
  // Writes the line if the site's limit has room now. Otherwise writes and counts nothing and
  // returns false; the caller tries again. A line below the log level counts as written.
  [[nodiscard]] bool write_if_room(const LogSite& site,
                                   std::initializer_list<std::string_view> values);

  // Start-up only; the port lives as long as the log.
  [[nodiscard]] LogPort& add_port(unsigned shard);

  // Admin thread, every 100 ms or so: prints the records of pollers and the sums of sites that have
  // become quiet. Returns the number of records taken.
  std::size_t drain();
  // Lines suppressed by the limits; records that did not fit into rings, and lines that were not
  // read, since the start.
  [[nodiscard]] std::uint64_t suppressed() const;
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Sinks;
  struct SiteState {
    Instant window_start{};
    unsigned printed = 0;
    std::uint64_t suppressed = 0;
  };

  Log(const LogOptions& options, const Clock& clock, const WallClock& wall_clock);
  [[nodiscard]] static std::string line_of(const LogSite& site,
                                           std::initializer_list<std::string_view> values);
  [[nodiscard]] bool print_if_room(const LogSite& site, std::string_view line);
  void print(const LogSite& site, std::string_view line);
  void print_sum(const LogSite& site, SiteState& state, Instant now);
  void print_sums(Instant now);
  void emit(LogLevel level, std::string_view text);
  void write_kept();

  const unsigned burst_;
  const Duration window_;
  const std::function<std::string(std::string_view line)> annotate_;
  const Clock& clock_;
  const WallClock& wall_clock_;
  std::atomic<LogLevel> level_;
  std::unique_ptr<Sinks> sinks_;
  mutable std::mutex mutex_;  // guards all members below
  std::map<const LogSite*, SiteState> sites_;
  std::uint64_t suppressed_ = 0;
  std::uint64_t lines_lost_reported_ = 0;
  std::vector<std::unique_ptr<LogPort>> ports_;
};

// A value as printed after key=: plain if it is one word, else quoted.
[[nodiscard]] std::string log_value_text(std::string_view text);

}  // namespace plnet::runtime
