// SPDX-License-Identifier: BSD-3-Clause
// The node's end of the control socket: takes requests on the admin thread, runs verbs, answers.
// Everything that clients can enlarge has a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lib/base/clock.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/control/access.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/runtime/control/socket.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::runtime {

struct ServerOptions {
  SocketOptions socket;
  AccessRule access;
  unsigned clients_max = 16;  // a few people, a few scripts
  // Places reserved for clients that may change something, so that readers never keep an
  // administrator out.
  unsigned reserved = 4;
  std::function<void()> out_of_descriptors{};  // called each time that no descriptor is left for a
                                               // client
  Duration idle_timeout = std::chrono::minutes(10);
  // For tests: changes the credentials that the kernel reported for a client.
  std::function<void(Caller&)> adjust_caller{};
};

struct ServerStats {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;  // too many clients, or no descriptor
  std::uint64_t requests = 0;
  std::uint64_t malformed = 0;
  std::uint64_t timed_out = 0;
};

class ControlServer {
 public:
  // Requests of one client that may wait for asynchronous verbs; the server reads no more of it
  // meanwhile.
  static constexpr unsigned kPendingMax = 16;
  // A client without the right to change needs no room for a configuration file.
  static constexpr std::size_t kReaderRequestBytesMax = std::size_t{64} << 10;
  // Answers that a client has not read; the server computes no more until it reads.
  static constexpr std::size_t kOutputHigh = std::size_t{256} << 10;

  // The loop and the table must outlive the server. All on the loop's thread.
  [[nodiscard]] static Outcome<std::unique_ptr<ControlServer>> start(EventLoop& loop,
                                                                     const VerbTable& verbs,
                                                                     ServerOptions options);
  // Drops the clients and removes the socket.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  [[nodiscard]] const ServerStats& stats() const { return stats_; }
  [[nodiscard]] const std::string& path() const { return socket_.path(); }

 private:
  struct Client;

  ControlServer(EventLoop& loop, const VerbTable& verbs, ServerOptions options,
                ListeningSocket socket);
  void accept_clients();
  [[nodiscard]] bool refuse_without_descriptor();
  void admit(Descriptor descriptor);
  void refuse(const Descriptor& descriptor, Errc code, std::string why);
  [[nodiscard]] bool has_place_for(const Caller& caller) const;
  void on_event(const std::shared_ptr<Client>& client, std::uint32_t events);
  void read_from(Client& client);
  void run_requests(const std::shared_ptr<Client>& client);
  void answer(const std::shared_ptr<Client>& client, std::optional<std::int64_t> id,
              const VerbReply& reply);
  void write_to(Client& client);
  void settle(const std::shared_ptr<Client>& client);
  void drop(const std::shared_ptr<Client>& client);
  void drop_idle();

  EventLoop& loop_;
  const VerbTable& verbs_;
  const ServerOptions options_;
  ListeningSocket socket_;
  Descriptor spare_;
  std::map<int, std::shared_ptr<Client>> clients_;
  EventLoop::TimerId idle_timer_{};
  ServerStats stats_;
  // Tokens of asynchronous verbs may outlive the server.
  std::shared_ptr<ControlServer*> self_;
};

}  // namespace plnet::runtime
