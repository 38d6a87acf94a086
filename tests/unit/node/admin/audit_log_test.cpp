// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/audit_log.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/clock.hpp"
#include "lib/lnet/control/gateway.hpp"
#include "node/admin/route_reports.hpp"

namespace plnet::node::audit_log_test {
namespace {

class AuditLog : public testing::Test {
 protected:
  AuditLog() {
    runtime::LogOptions options;
    options.descriptor = -1;
    options.capture = [this](std::string_view line) {
      lines.emplace_back(line.substr(line.find("event=")));
      lines.back().pop_back();
    };
    log = std::move(*runtime::Log::open(options, clock, wall_clock));
  }

  std::vector<std::string> lines;
  ManualClock clock;
  const runtime::SystemWallClock wall_clock;
  std::unique_ptr<runtime::Log> log;
  const runtime::Caller caller{.uid = 1000, .pid = 4711};
};

TEST_F(AuditLog, EachChangeOfADocumentHasALine) {
  std::vector<runtime::SettingChange> changes;
  for (int i = 0; i < 40; ++i)
    changes.push_back({"route", "none", "route " + std::to_string(i), runtime::Applies::kLive});
  log_changes(changes, caller, *log);
  ASSERT_EQ(lines.size(), 40U);
  EXPECT_EQ(lines[39], "event=changed what=route from=none to=\"route 39\" uid=1000 pid=4711");
}

TEST_F(AuditLog, ThousandsOfChangesAreCounted) {
  const std::vector<runtime::SettingChange> changes(
      1000, {"route", "none", "one", runtime::Applies::kLive});
  log_changes(changes, caller, *log);
  ASSERT_EQ(lines.size(), kChangeLinesMax + 1);
  EXPECT_EQ(lines.back(), "event=changed_more count=744 uid=1000 pid=4711");
}

TEST_F(AuditLog, AGatewayThatDiesNamesAllItsRoutes) {
  std::vector<lnet::RouteNews> news;
  for (std::uint16_t i = 0; i < 25; ++i) {
    news.push_back({.net = lnet::make_net(lnet::NetType::kTcp, i),
                    .gateway = lnet::Nid::of(lnet::NetType::kKfi, 0, 9),
                    .transition = {}});
  }
  log_route_news(news, *log);
  ASSERT_EQ(lines.size(), 25U);
  EXPECT_TRUE(lines[24].starts_with("event=route_down net=tcp24 gateway=")) << lines[24];
}

TEST_F(AuditLog, EachCommandHasALineAndFrequentOnesAreSummedUp) {
  const runtime::VerbRow route_del{.words = "route del"};
  for (int i = 0; i < 40; ++i)
    log_command(route_del, caller, "net=tcp" + std::to_string(i), *log);
  ASSERT_EQ(lines.size(), 40U);
  EXPECT_EQ(lines[39], "event=command verb=\"route del\" args=\"net=tcp39\" uid=1000 pid=4711");
  const runtime::VerbRow ping{.words = "ping", .frequent = true};
  for (int i = 0; i < 40; ++i)
    log_command(ping, caller, "nid=10.0.0.1@tcp", *log);
  EXPECT_LT(lines.size(), 60U);
  clock.advance(std::chrono::seconds(1));
  log->drain();
  EXPECT_EQ(lines.back(), "event=command repeated=30");
}

}  // namespace
}  // namespace plnet::node::audit_log_test
