// SPDX-License-Identifier: BSD-3-Clause
// The status page of a node: while there are watchers, one event a second, made once for all of
// them on the admin thread. Pollers answer the questions of `lnetctl status` once for it, and have
// nothing else to do with it.
#pragma once

#include <memory>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/admin/page_server.hpp"
#include "node/watch/lnet_standing.hpp"
#include "node/watch/page_snapshot.hpp"

namespace plnet::node {

class Node;
class RecentLines;

class StatusPage {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  // The load is of windows of ten seconds, so it is asked for less often.
  static constexpr unsigned kLoadPeriods = 5;

  // All outlive the page.
  StatusPage(Node& node, const RecentLines& lines);
  ~StatusPage();
  StatusPage(const StatusPage&) = delete;
  StatusPage& operator=(const StatusPage&) = delete;

  [[nodiscard]] runtime::PageServer& server() { return server_; }
  [[nodiscard]] const runtime::PageServer& server() const { return server_; }

 private:
  void set_watched(bool is_watched);
  void look();
  void ask_load();
  void publish(LnetStanding standing);

  Node& node_;
  const RecentLines& lines_;
  // Null after the end, for answers that come later.
  const std::shared_ptr<StatusPage*> self_ = std::make_shared<StatusPage*>(this);
  runtime::EventLoop::TimerId timer_ = runtime::EventLoop::TimerId::kNone;
  unsigned looks_ = 0;
  bool asking_ = false;
  bool asking_load_ = false;
  runtime::Json load_;
  runtime::PageServer server_;
};

}  // namespace plnet::node
