// SPDX-License-Identifier: BSD-3-Clause
// The client end of the control socket, for lnetctl: blocks, with a time limit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "lib/base/clock.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::runtime {

class ControlClient {
 public:
  // The error names the socket and says what to do: start a node, or get the rights. The clock must
  // outlive the client.
  [[nodiscard]] static Outcome<ControlClient> connect(const std::string& path, const Clock& clock);

  // Sends the request and waits for the answer. A connection failure is returned as an error too.
  [[nodiscard]] VerbReply call(std::string_view verb, const nlohmann::json& args, Duration timeout);

  // The descriptors that came with the node's answers so far.
  [[nodiscard]] std::vector<Descriptor> take_descriptors() { return std::exchange(handed_, {}); }

  // No call is under way, and the node has closed the connection: it closes silent ones after a
  // while.
  [[nodiscard]] bool was_closed() const;

 private:
  ControlClient(std::string path, Descriptor socket, const Clock& clock)
      : path_(std::move(path)), socket_(std::move(socket)), clock_(clock) {}
  [[nodiscard]] Outcome<void> wait_for(short events, Instant deadline, Duration timeout);
  [[nodiscard]] Outcome<void> send_all(std::string_view text, Instant deadline, Duration timeout);
  [[nodiscard]] ssize_t receive(std::span<char> piece);
  [[nodiscard]] Outcome<std::string> read_line(Instant deadline, Duration timeout);

  std::string path_;
  Descriptor socket_;
  const Clock& clock_;
  LineBuffer input_{kReplyBytesMax};
  std::int64_t next_id_ = 1;
  std::vector<Descriptor> handed_;
};

}  // namespace plnet::runtime
