// SPDX-License-Identifier: BSD-3-Clause
// Which nodes of this host can be a console, found by their control sockets, and asking them.
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
  bool silent = false;  // it is there, but has not answered in time: nothing is known of it
};

// --- Decisions, from what was found ---

// The console that has the session `key`. With key 0 any session will do. Or what to say:
// EACCES if there are sessions with other keys only, ESRCH if there are none, ETIMEDOUT if one that
// is silent may have it.
[[nodiscard]] std::expected<FoundConsole, Refusal> console_of(
    const std::vector<FoundConsole>& found, std::uint32_t key);

// Where a session can begin: at the console that has one with this key already (it says what is to
// be said about that); else at a node that is there anyway; else at the console of another session,
// since two cannot share the networks of a host. Nothing: one has to be started. ENOTUNIQ: several
// nodes, and `instance` ("": any) does not say which. ETIMEDOUT: one is silent, and it might be the
// place.
[[nodiscard]] std::expected<std::optional<FoundConsole>, Refusal> console_for(
    const std::vector<FoundConsole>& found, std::uint32_t key, const std::string& instance);

// --- The sockets ---

// How long a console may take to answer, which has asked nodes and waited for them.
[[nodiscard]] Duration answer_patience(std::string_view verb, const Shell::Args& args);

class Consoles {
 public:
  // A node that is alive answers a look within some turns. But beside pollers that want every CPU
  // one was seen to have none for many seconds: a console has a session of the system's to itself,
  // and a scheduler that shares out by session (autogroup) may do that badly.
  static constexpr Duration kLookTimeout = std::chrono::seconds(20);

  // `clock` outlives this.
  Consoles(std::string folder, const Clock& clock, Duration look_timeout = kLookTimeout)
      : folder_(std::move(folder)), clock_(clock), look_timeout_(look_timeout) {}

  // Those that are there, in the order of their names.
  [[nodiscard]] std::vector<FoundConsole> look() const;
  // The one at this socket, if a node serves it that knows of consoles.
  [[nodiscard]] std::optional<FoundConsole> look_at(const std::string& socket) const;
  [[nodiscard]] Shell::Asked ask(const std::string& socket, std::string_view verb,
                                 const Shell::Args& args);
  // By the key among the arguments.
  [[nodiscard]] Shell::Asked ask_session(std::string_view verb, const Shell::Args& args);
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
  const Clock& clock_;
  const Duration look_timeout_;
  // The one that was asked last is asked again, by the commands of a prompt or the samples of stat.
  std::string connected_to_;
  std::uint32_t connected_for_ = 0;
  std::optional<runtime::ControlClient> client_;
};

}  // namespace plnet::lst
