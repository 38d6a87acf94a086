// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/log.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <unistd.h>

#include "lib/base/check.hpp"
#include "lib/runtime/admin/descriptor_sink.hpp"

namespace plnet::runtime {
namespace {

constexpr auto kLevelNames = std::to_array<std::string_view>({"error", "warning", "info", "debug"});
constexpr const char* kLinePattern = "time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v";

// Logged when the reader of the log did not read.
constexpr LogSite kLinesLost{LogLevel::kWarning, "log_lines_lost", {"lost"}};
constexpr LogSite kRecordsLost{LogLevel::kWarning, "log_records_lost", {"shard", "lost"}};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kDebug: return spdlog::level::debug;
  }
  return spdlog::level::err;
}

// The priority in angle brackets that sd-daemon(3) defines for the start of a line.
class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const char priority = message.level >= spdlog::level::err    ? '3'
                          : message.level == spdlog::level::warn ? '4'
                          : message.level == spdlog::level::info ? '6'
                                                                 : '7';
    out.push_back('<');
    out.push_back(priority);
    out.push_back('>');
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
  }
};

class CaptureSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit CaptureSink(std::function<void(std::string_view)> capture)
      : capture_(std::move(capture)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    capture_(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}

  std::function<void(std::string_view)> capture_;
};

std::unique_ptr<spdlog::formatter> make_formatter(const char* pattern) {
  auto formatter =
      std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
  formatter->add_flag<JournalPriority>('*').set_pattern(pattern);
  return formatter;
}

void append_field(std::string& line, std::string_view key, std::string_view value) {
  line += ' ';
  line += key.empty() ? "value" : key;
  line += '=';
  line += log_value_text(value);
}

}  // namespace

// Keeps spdlog out of the header.
struct Log::Sinks {
  Sinks(std::vector<spdlog::sink_ptr> all, std::shared_ptr<DescriptorSink> its_descriptor)
      : logger("", all.begin(), all.end()), descriptor(std::move(its_descriptor)) {
    logger.set_level(spdlog::level::trace);  // Log has already decided
  }
  spdlog::logger logger;
  const std::shared_ptr<DescriptorSink> descriptor;  // may be null
};

std::string_view name_of(LogLevel level) {
  const auto index = static_cast<std::size_t>(level);
  return index < kLevelNames.size() ? kLevelNames[index] : "unknown";
}

Result<LogLevel> parse_log_level(std::string_view text) {
  const auto* const found = std::ranges::find(kLevelNames, text);
  if (found == kLevelNames.end()) return std::unexpected(Errc::kInvalid);
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

LogValue::LogValue(std::string_view text)
    : kind_(Kind::kText), length_(static_cast<std::uint8_t>(std::min(text.size(), kTextMax))) {
  std::copy_n(text.begin(), length_, text_.begin());
}

std::string LogValue::text() const {
  switch (kind_) {
    case Kind::kSigned: return fmt::format("{}", static_cast<std::int64_t>(number_));
    case Kind::kUnsigned: return fmt::format("{}", number_);
    case Kind::kText: break;
  }
  return {text_.data(), length_};
}

std::string log_value_text(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c != '\x7f';
  });
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

void LogPort::post(const LogSite& site, std::initializer_list<LogValue> values) noexcept {
  if (!log_.wants(site.level)) return;
  PLNET_CHECK(values.size() <= kLogFieldsMax, "a log line has a bounded number of values");
  LogRecord record{&site, {}};
  std::ranges::copy(values, record.values.begin());
  if (!ring_.push(record)) {
    lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

Log::Log(const LogOptions& options, const Clock& clock, const WallClock& wall_clock)
    : burst_(std::max(1U, options.burst)),
      window_(options.window),
      annotate_(options.annotate),
      clock_(clock),
      wall_clock_(wall_clock),
      level_(options.level) {}

Log::~Log() {
  drain();
}

Outcome<std::unique_ptr<Log>> Log::open(const LogOptions& options, const Clock& clock,
                                        const WallClock& wall_clock) {
  std::unique_ptr<Log> log(new Log(options, clock, wall_clock));
  try {
    std::vector<spdlog::sink_ptr> sinks;
    std::shared_ptr<DescriptorSink> descriptor;
    if (options.descriptor >= 0) {
      descriptor = std::make_shared<DescriptorSink>(options.descriptor);
      sinks.push_back(descriptor);
      sinks.back()->set_formatter(make_formatter(options.journal ? "%*%v" : kLinePattern));
    }
    if (!options.file.empty()) {
      sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_st>(options.file));
      sinks.back()->set_formatter(make_formatter(kLinePattern));
    }
    if (options.capture) {
      sinks.push_back(std::make_shared<CaptureSink>(options.capture));
      sinks.back()->set_formatter(make_formatter(kLinePattern));
    }
    log->sinks_ = std::make_unique<Sinks>(std::move(sinks), std::move(descriptor));
    log->sinks_->logger.flush_on(spdlog::level::info);
  } catch (const spdlog::spdlog_ex& error) {
    return failure(Errc::kIo, fmt::format("log file '{}': {}", options.file, error.what()));
  }
  return log;
}

std::string Log::line_of(const LogSite& site, std::initializer_list<std::string_view> values) {
  PLNET_CHECK(values.size() <= kLogFieldsMax, "a log line has a bounded number of values");
  std::string line = fmt::format("event={}", site.event);
  const auto* key = site.keys.begin();
  for (const std::string_view value : values)
    append_field(line, *key++, value);
  return line;
}

void Log::write(const LogSite& site, std::initializer_list<std::string_view> values) {
  if (!wants(site.level)) return;
  const std::string line = line_of(site, values);
  const std::lock_guard lock(mutex_);
  print(site, line);
}

bool Log::write_if_room(const LogSite& site, std::initializer_list<std::string_view> values) {
  if (!wants(site.level)) return true;
  const std::string line = line_of(site, values);
  const std::lock_guard lock(mutex_);
  return print_if_room(site, line);
}

void Log::print(const LogSite& site, std::string_view line) {
  if (print_if_room(site, line)) return;
  ++sites_[&site].suppressed;
  ++suppressed_;
}

bool Log::print_if_room(const LogSite& site, std::string_view line) {
  if (site.limit == LogLimit::kCaller) {
    emit(site.level, line);
    return true;
  }
  const Instant now = clock_.now();
  auto [found, is_new] = sites_.try_emplace(&site);
  SiteState& state = found->second;
  if (is_new || now - state.window_start >= window_) print_sum(site, state, now);
  if (state.printed >= burst_) return false;
  ++state.printed;
  emit(site.level, line);
  return true;
}

// A line of its own: appended to another line, it would seem to describe the values of that line.
void Log::print_sum(const LogSite& site, SiteState& state, Instant now) {
  if (state.suppressed > 0) {
    emit(site.level, fmt::format("event={} repeated={}", site.event, state.suppressed));
  }
  state = {.window_start = now};
}

void Log::print_sums(Instant now) {
  for (auto& [site, state] : sites_) {
    if (state.suppressed > 0 && now - state.window_start >= window_) print_sum(*site, state, now);
  }
}

void Log::emit(LogLevel level, std::string_view text) {
  std::string line(text);
  if (annotate_) line += annotate_(text);
  sinks_->logger.log(wall_clock_.now(), spdlog::source_loc{}, spdlog_level(level),
                     spdlog::string_view_t(line.data(), line.size()));
}

LogPort& Log::add_port(unsigned shard) {
  const std::lock_guard lock(mutex_);
  PLNET_CHECK(ports_.size() < kPortsMax, "one port per poller");
  ports_.push_back(std::unique_ptr<LogPort>(new LogPort(*this, shard)));
  return *ports_.back();
}

std::size_t Log::drain() {
  const std::lock_guard lock(mutex_);
  if (!sinks_) return 0;
  std::size_t taken = 0;
  for (const auto& port : ports_) {
    LogRecord record;
    // At most one ring full per port and drain, so that a poller that posts without end cannot hold
    // the admin thread.
    for (std::size_t i = 0; i < LogPort::kRecords && port->ring_.pop(record); ++i) {
      ++taken;
      std::string line = fmt::format("event={} shard={}", record.site->event, port->shard_);
      for (std::size_t field = 0; field < kLogFieldsMax; ++field) {
        if (record.site->keys[field].empty()) break;
        append_field(line, record.site->keys[field], record.values[field].text());
      }
      print(*record.site, line);
    }
    const std::uint64_t lost = port->lost_.load(std::memory_order_relaxed);
    if (lost != port->lost_reported_) {
      print(kRecordsLost, fmt::format("event={} shard={} lost={}", kRecordsLost.event, port->shard_,
                                      lost - port->lost_reported_));
      port->lost_reported_ = lost;
    }
  }
  print_sums(clock_.now());
  write_kept();
  return taken;
}

void Log::write_kept() {
  if (!sinks_->descriptor) return;
  DescriptorSink& sink = *sinks_->descriptor;
  sink.write_kept();
  if (sink.dropped() == lines_lost_reported_ || !sink.has_written_all()) return;
  const std::uint64_t lost = sink.dropped() - lines_lost_reported_;
  lines_lost_reported_ = sink.dropped();
  print(kLinesLost, fmt::format("event={} lost={}", kLinesLost.event, lost));
}

std::uint64_t Log::suppressed() const {
  const std::lock_guard lock(mutex_);
  return suppressed_;
}

std::uint64_t Log::lost() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = sinks_->descriptor ? sinks_->descriptor->dropped() : 0;
  for (const auto& port : ports_)
    sum += port->lost_.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace plnet::runtime
