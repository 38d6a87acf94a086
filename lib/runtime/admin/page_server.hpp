// SPDX-License-Identifier: BSD-3-Clause
// A page over HTTP that renews itself: a few fixed documents, and one stream of server-sent events.
// It runs on the admin thread and never blocks. It only answers GET and HEAD, and nothing that a
// client sends has an effect. Each event is made once and shared by all watchers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/admin/event_loop.hpp"

namespace plnet::runtime {

// The texts outlive the server.
struct PageDocument {
  std::string_view path;  // "/page.css"
  std::string_view type;  // its Content-Type
  std::string_view text;
};

struct PageOptions {
  std::span<const PageDocument> documents;
  std::string_view stream = "/events";
  std::string own_name;  // the name of this host, which Host may have
  // Called when the first watcher comes and when the last one has gone.
  std::function<void(bool is_watched)> on_watched;
};

// "9989", which is 127.0.0.1:9989, or an address with a port as for metrics.
[[nodiscard]] Outcome<std::string> parse_page_address(std::string_view text);

class PageServer {
 public:
  // Ten screens on walls, and some on desks.
  static constexpr std::size_t kWatchersMax = 16;
  static constexpr std::size_t kConnectionsMax = 64;
  // A watcher that has not taken the event before the last so many ones is dropped.
  static constexpr unsigned kMissedMax = 5;

  PageServer(EventLoop& loop, PageOptions options);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  // "" turns it off; an address that is already served stays as it is. If the new address cannot be
  // bound, the old one stays.
  [[nodiscard]] Outcome<void> set_listen(std::string_view address);
  // The address with the bound port, "" if off.
  [[nodiscard]] std::string address() const { return bound_; }

  // Sends `text`, one line, to all watchers. The last one is kept for those who come later while
  // there are watchers.
  void publish(std::string_view text);
  [[nodiscard]] std::size_t watchers() const { return watchers_; }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection;
  using Text = std::shared_ptr<const std::string>;

  [[nodiscard]] static Outcome<Descriptor> open_listener(const std::string& address);
  void accept_all();
  void on_ready(std::uint64_t id, std::uint32_t events);
  void read_from(std::uint64_t id, Connection& connection);
  void answer(std::uint64_t id, Connection& connection);
  void watch(std::uint64_t id, Connection& connection, bool is_head);
  void reply(std::uint64_t id, Connection& connection, Text text);
  // False: the connection was dropped.
  bool write_to(std::uint64_t id, Connection& connection);
  void drop(std::uint64_t id);
  void look_at_deadlines();

  EventLoop& loop_;
  const PageOptions options_;
  std::string listen_;
  std::string bound_;
  Descriptor listener_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Connection> connections_;
  std::size_t watchers_ = 0;
  Text last_event_;
  EventLoop::TimerId timer_ = EventLoop::TimerId::kNone;
};

}  // namespace plnet::runtime
