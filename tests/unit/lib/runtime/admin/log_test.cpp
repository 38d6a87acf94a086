// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/log.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

using namespace std::chrono_literals;

constexpr LogSite kPeerDown{LogLevel::kWarning, "peer_down", {"nid", "reason"}};
constexpr LogSite kRouteDown{LogLevel::kWarning, "route_down", {"net"}, LogLimit::kCaller};
constexpr LogSite kNoise{LogLevel::kInfo, "noise", {"n"}};
constexpr LogSite kDetail{LogLevel::kDebug, "detail", {}};

class FixedWallClock final : public WallClock {
 public:
  [[nodiscard]] WallTime now() const override { return WallTime(1'790'000'000'250ms); }
};

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    LogOptions options;
    options.descriptor = -1;
    options.burst = 3;
    options.capture = [this](std::string_view line) { lines_.emplace_back(line); };
    options.annotate = [](std::string_view line) {
      return std::string(line.contains("18@kfi") ? " hosts=login1" : "");
    };
    auto opened = Log::open(options, clock_, wall_clock_);
    ASSERT_TRUE(opened) << opened.error().what;
    log_ = std::move(*opened);
  }

  std::vector<std::string> lines_;
  ManualClock clock_;
  FixedWallClock wall_clock_;
  std::unique_ptr<Log> log_;
};

TEST_F(LogTest, OneLineOfKeysAndValuesWithIsoTime) {
  log_->write(kPeerDown, {"10.0.0.1@tcp", "no reply to ping"});
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0],
            "time=2026-09-21T14:13:20.250Z level=warning event=peer_down nid=10.0.0.1@tcp "
            "reason=\"no reply to ping\"\n");
}

// A pipe whose reading the test controls.
class StalledLog : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    LogOptions options;
    options.descriptor = ends_[1];
    auto opened = Log::open(options, clock_, wall_clock_);
    ASSERT_TRUE(opened) << opened.error().what;
    log_ = std::move(*opened);
  }
  void TearDown() override {
    log_.reset();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  // Everything in the pipe, and then the lines that the log kept.
  std::string read_all() {
    std::string all;
    std::array<char, 65536> some{};
    pollfd ready{.fd = ends_[0], .events = POLLIN, .revents = 0};
    for (log_->drain(); ::poll(&ready, 1, 0) == 1; log_->drain())
      all.append(some.data(), static_cast<std::size_t>(::read(ends_[0], some.data(), some.size())));
    return all;
  }

  std::array<int, 2> ends_{};
  ManualClock clock_;
  FixedWallClock wall_clock_;
  std::unique_ptr<Log> log_;
};

TEST_F(StalledLog, UnreadLinesAreKeptAndThenDropped) {
  const std::string text(1000, 'x');
  for (int i = 0; i < 2000; ++i)
    log_->write(kRouteDown, {text});
  const std::uint64_t lost = log_->lost();
  EXPECT_GT(lost, 500U);
  EXPECT_LT(lost, 1100U) << "a mebibyte is kept, and the pipe holds some";
  log_->drain();
  EXPECT_EQ(log_->lost(), lost) << "the line about losses waits";
  const std::string seen = read_all();
  EXPECT_EQ(std::ranges::count(seen, '\n'), static_cast<std::ptrdiff_t>(2000 - lost + 1));
  EXPECT_TRUE(seen.contains(fmt::format("event=log_lines_lost lost={}\n", lost)));
  log_->write(kPeerDown, {"10.0.0.1@tcp", "gone"});
  EXPECT_TRUE(read_all().ends_with("event=peer_down nid=10.0.0.1@tcp reason=gone\n"));
}

TEST_F(LogTest, LinesMayBeAnnotated) {
  log_->write(kPeerDown, {"18@kfi", "gone"});
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(lines_[0].ends_with(" nid=18@kfi reason=gone hosts=login1\n")) << lines_[0];
}

TEST_F(LogTest, TheLevelIsLive) {
  log_->write(kDetail, {});
  EXPECT_TRUE(lines_.empty());
  log_->set_level(LogLevel::kDebug);
  log_->write(kDetail, {});
  EXPECT_EQ(lines_.size(), 1U);
  log_->set_level(LogLevel::kError);
  log_->write(kPeerDown, {"x", "y"});
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(LogTest, ASiteThatRepeatsItselfIsCutOffAndSummedUp) {
  for (int i = 0; i < 126; ++i)
    log_->write(kNoise, {"1"});
  EXPECT_EQ(lines_.size(), 3U);
  EXPECT_EQ(log_->suppressed(), 123U);
  log_->write(kPeerDown, {"a", "b"});
  EXPECT_EQ(lines_.size(), 4U) << "other sites are not held back";
  clock_.advance(1s);
  log_->write(kNoise, {"2"});
  ASSERT_EQ(lines_.size(), 6U);
  EXPECT_TRUE(lines_[4].ends_with("event=noise repeated=123\n")) << lines_[4];
  EXPECT_TRUE(lines_[5].ends_with("event=noise n=2\n")) << "the sum is of others: " << lines_[5];
}

TEST_F(LogTest, NoLineIsLeftOutOfASiteThatItsCallersBound) {
  for (int i = 0; i < 25; ++i)
    log_->write(kRouteDown, {"tcp" + std::to_string(i)});
  EXPECT_EQ(lines_.size(), 25U);
  EXPECT_EQ(log_->suppressed(), 0U);
}

TEST_F(LogTest, LinesWithoutRoomMayBeRetried) {
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(log_->write_if_room(kNoise, {"1"}));
  EXPECT_FALSE(log_->write_if_room(kNoise, {"2"}));
  EXPECT_EQ(lines_.size(), 3U);
  EXPECT_EQ(log_->suppressed(), 0U) << "it is not lost";
  EXPECT_TRUE(log_->write_if_room(kDetail, {})) << "no output wants it";
  clock_.advance(1s);
  EXPECT_TRUE(log_->write_if_room(kNoise, {"2"}));
  ASSERT_EQ(lines_.size(), 4U);
  EXPECT_TRUE(lines_[3].ends_with("event=noise n=2\n")) << lines_[3];
}

TEST_F(LogTest, ASiteThatFellSilentIsSummedUpByDrain) {
  for (int i = 0; i < 5; ++i)
    log_->write(kNoise, {"1"});
  log_->drain();
  EXPECT_EQ(lines_.size(), 3U) << "its window is not over";
  clock_.advance(1s);
  log_->drain();
  ASSERT_EQ(lines_.size(), 4U);
  EXPECT_NE(lines_[3].find("event=noise repeated=2"), std::string::npos);
  clock_.advance(5s);
  log_->drain();
  EXPECT_EQ(lines_.size(), 4U) << "once";
}

TEST_F(LogTest, APollersRecordsArePrintedByDrain) {
  const std::string long_text(100, 'x');
  LogPort& port = log_->add_port(3);
  port.post(kPeerDown, {-7, "timeout"});
  port.post(kPeerDown, {~std::uint64_t{0}, std::string_view(long_text)});
  port.post(kDetail, {});
  EXPECT_TRUE(lines_.empty());
  EXPECT_EQ(log_->drain(), 2U) << "debug is off";
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_NE(lines_[0].find("event=peer_down shard=3 nid=-7 reason=timeout\n"), std::string::npos);
  EXPECT_NE(lines_[1].find(
                "nid=18446744073709551615 reason=" + std::string(LogValue::kTextMax, 'x') + "\n"),
            std::string::npos);
}

TEST_F(LogTest, APollerThatPostsTooMuchIsCountedNotBlocked) {
  LogPort& port = log_->add_port(0);
  for (std::size_t i = 0; i < LogPort::kRecords + 5; ++i)
    port.post(kNoise, {i});
  EXPECT_EQ(log_->lost(), 5U);
  EXPECT_EQ(log_->drain(), LogPort::kRecords);
  ASSERT_EQ(lines_.size(), 4U) << "three of the site, one about the loss";
  EXPECT_NE(lines_[3].find("event=log_records_lost shard=0 lost=5"), std::string::npos);
  log_->drain();
  EXPECT_EQ(lines_.size(), 4U);
}

TEST_F(LogTest, ValuesCannotForgeLines) {
  EXPECT_EQ(log_value_text("a\nlevel=error"), "\"a\\nlevel=error\"");
  EXPECT_EQ(log_value_text("\x1b[31m"), "\"\\x1b[31m\"");
  EXPECT_EQ(log_value_text("a=b"), "\"a=b\"");
  EXPECT_EQ(log_value_text("say \"x\" \\"), "\"say \\\"x\\\" \\\\\"");
  EXPECT_EQ(log_value_text(""), "\"\"");
  EXPECT_EQ(log_value_text("10.0.0.1@tcp"), "10.0.0.1@tcp");
}

TEST(LogFile, IsAppendedToAndAMissingFolderIsAnError) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("plnet_log_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const ManualClock clock;
  const FixedWallClock wall_clock;
  LogOptions options;
  options.descriptor = -1;
  options.file = folder / "a.log";
  for (int i = 0; i < 2; ++i) {
    auto log = Log::open(options, clock, wall_clock);
    ASSERT_TRUE(log);
    (*log)->write(kNoise, {"7"});
  }
  std::ostringstream text;
  text << std::ifstream(options.file).rdbuf();
  const std::string line = "time=2026-09-21T14:13:20.250Z level=info event=noise n=7\n";
  EXPECT_EQ(text.str(), line + line);
  std::filesystem::remove_all(folder);

  options.file = "/proc/no/such/folder/a.log";
  const auto refused = Log::open(options, clock, wall_clock);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("/proc/no/such/folder/a.log"), std::string::npos);
}

TEST(LogLevelText, RoundTrips) {
  for (const auto level :
       {LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug}) {
    EXPECT_EQ(parse_log_level(name_of(level)), level);
  }
  EXPECT_FALSE(parse_log_level("loud"));
  EXPECT_FALSE(parse_log_level(""));
}

}  // namespace
}  // namespace plnet::runtime
