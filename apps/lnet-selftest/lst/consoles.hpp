// SPDX-License-Identifier: BSD-3-Clause
// Finds the nodes of this host that can be a console by their control sockets, and sends requests
// to them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/lnet-selftest/lst/shell.hpp"
#include "lib/base/clock.hpp"
#include "lib/runtime/control/client.hpp"

namespace plnet::lst {

struct FoundConsole {
  std::string socket;
  ConsoleHost host;
  bool silent = false;  // the node exists but has not answered in time: nothing is known about it
};

// --- Decisions about the consoles found ---

// The console with the session `key`; with key 0, with any session. Errors: EACCES if there are
// only sessions with other keys, ESRCH if there are none, ETIMEDOUT if a silent console may have
// it.
[[nodiscard]] std::expected<FoundConsole, Refusal> console_of(
    const std::vector<FoundConsole>& found, std::uint32_t key);

// The place of a new session: the console that already has one with this key (which then refuses
// it); else an existing node; else the console of another session, since two consoles cannot share
// the networks of a host. Nothing: start one. ENOTUNIQ: several nodes, and `instance` ("": any)
// does not choose one. ETIMEDOUT: a silent node might be the place.
[[nodiscard]] std::expected<std::optional<FoundConsole>, Refusal> console_for(
    const std::vector<FoundConsole>& found, std::uint32_t key, const std::string& instance);

// --- The sockets ---

// The longest time until a console answers that has queried nodes.
[[nodiscard]] Duration answer_patience(std::string_view verb, const Shell::Args& args);

class Consoles {
 public:
  // A live node answers within some turns. But beside pollers that use every CPU, one was observed
  // without CPU time for many seconds: a console has a session of its own, and a scheduler that
  // distributes by session (autogroup) may starve it.
  static constexpr Duration kLookTimeout = std::chrono::seconds(20);

  // `clock` outlives the object.
  Consoles(std::string folder, const Clock& clock, Duration look_timeout = kLookTimeout)
      : folder_(std::move(folder)), clock_(clock), look_timeout_(look_timeout) {}

  // The consoles found, ordered by name.
  [[nodiscard]] std::vector<FoundConsole> look() const;
  // The console at this socket, if a node with consoles serves it.
  [[nodiscard]] std::optional<FoundConsole> look_at(const std::string& socket) const;
  [[nodiscard]] Shell::Asked ask(const std::string& socket, std::string_view verb,
                                 const Shell::Args& args);
  // Chooses the console by the key among the arguments.
  [[nodiscard]] Shell::Asked ask_session(std::string_view verb, const Shell::Args& args);
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
  const Clock& clock_;
  const Duration look_timeout_;
  // Commands of a prompt and samples of stat reuse the last connection.
  std::string connected_to_;
  std::uint32_t connected_for_ = 0;
  std::optional<runtime::ControlClient> client_;
};

}  // namespace plnet::lst
