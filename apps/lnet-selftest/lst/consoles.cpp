// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/consoles.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace plnet::lst {
namespace {

// Two phases of add_test, and time for the console itself.
constexpr Duration kAnswerTimeout = std::chrono::seconds(100);

// Time for the console itself beyond the time that nodes get.
constexpr Duration kAnswerSlack = std::chrono::seconds(30);
constexpr std::int64_t kQueryTimeoutMaxS = 86'400;  // the console's own limit

Refusal refusal_from(const runtime::VerbError& error) {
  const runtime::VerbFault& fault = error.faults.front();
  if (fault.code == Errc::kNotPermitted) return {EACCES, fault.what};
  return {errno_of(fault.code), fault.what};
}

// The silent consoles, if no other console is suitable.
std::optional<Refusal> silence_of(const std::vector<FoundConsole>& found) {
  const auto silent = std::ranges::find(found, true, &FoundConsole::silent);
  if (silent == found.end()) return std::nullopt;
  return Refusal{
      ETIMEDOUT,
      fmt::format("the node at '{}' exists but does not answer; it is unknown whether it has the "
                  "session",
                  silent->socket)};
}

}  // namespace

// Only a query may be given longer than the console waits anyway.
Duration answer_patience(std::string_view verb, const Shell::Args& args) {
  const auto given = args.find("timeout");
  if (verb != "lst query" || given == args.end() || !given->is_number_integer())
    return kAnswerTimeout;
  const auto seconds = std::clamp<std::int64_t>(given->get<std::int64_t>(), 0, kQueryTimeoutMaxS);
  return std::max<Duration>(kAnswerTimeout, std::chrono::seconds(seconds) + kAnswerSlack);
}

std::expected<FoundConsole, Refusal> console_of(const std::vector<FoundConsole>& found,
                                                std::uint32_t key) {
  bool any = false;
  for (const FoundConsole& console : found) {
    if (!console.host.has_session) continue;
    if (key == 0 || console.host.key == key) return console;
    any = true;
  }
  if (auto silence = silence_of(found)) return std::unexpected(std::move(*silence));
  return std::unexpected(Refusal{any ? EACCES : ESRCH, {}});
}

std::expected<std::optional<FoundConsole>, Refusal> console_for(
    const std::vector<FoundConsole>& found, std::uint32_t key, const std::string& instance) {
  std::vector<FoundConsole> standing;
  std::optional<FoundConsole> background;
  for (const FoundConsole& console : found) {
    if (console.silent) continue;
    if (!instance.empty() && console.host.instance != instance) continue;
    if (console.host.has_session && console.host.key == key) return console;
    if (console.host.background) {
      background = console;
    } else {
      standing.push_back(console);
    }
  }
  if (standing.size() == 1) return standing.front();
  if (standing.size() > 1) {
    std::string names;
    for (const FoundConsole& console : standing)
      names += (names.empty() ? "" : ", ") + console.host.instance;
    return std::unexpected(Refusal{
        ENOTUNIQ,
        fmt::format("several nodes here can be the console: {}; lst --instance NAME says which",
                    names)});
  }
  if (background) return background;
  if (auto silence = silence_of(found)) return std::unexpected(std::move(*silence));
  if (!instance.empty()) {
    return std::unexpected(
        Refusal{ENODEV, fmt::format("no node '{}' with selftest runs here", instance)});
  }
  return std::nullopt;
}

std::vector<FoundConsole> Consoles::look() const {
  std::vector<std::string> sockets;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".sock") sockets.push_back(at->path().string());
  }
  std::ranges::sort(sockets);
  std::vector<FoundConsole> found;
  for (const std::string& socket : sockets) {
    if (auto console = look_at(socket)) found.push_back(std::move(*console));
  }
  return found;
}

std::optional<FoundConsole> Consoles::look_at(const std::string& socket) const {
  auto client = runtime::ControlClient::connect(socket, clock_);
  if (!client) return std::nullopt;
  const auto answer = client->call("lst host", nlohmann::json::object(), look_timeout_);
  if (!answer && answer.error().faults.front().code == Errc::kTimedOut)
    return FoundConsole{.socket = socket, .host = {}, .silent = true};
  if (!answer || refusal_of(*answer)) return std::nullopt;
  auto host = from_json<ConsoleHost>(*answer);
  if (!host) return std::nullopt;
  return FoundConsole{.socket = socket, .host = std::move(*host)};
}

Shell::Asked Consoles::ask(const std::string& socket, std::string_view verb,
                           const Shell::Args& args) {
  if (!client_ || connected_to_ != socket) {
    auto client = runtime::ControlClient::connect(socket, clock_);
    if (!client)
      return std::unexpected(Refusal{errno_of(client.error().code), client.error().what});
    client_.emplace(std::move(*client));
    connected_to_ = socket;
  }
  const auto answer = client_->call(verb, args, answer_patience(verb, args));
  if (!answer) {
    // After any failure the next command looks for a console anew.
    client_.reset();
    connected_to_.clear();
    return std::unexpected(refusal_from(answer.error()));
  }
  if (auto refused = refusal_of(*answer)) {
    if (refused->number == ESRCH || refused->number == EACCES) connected_to_.clear();
    return std::unexpected(std::move(*refused));
  }
  return *answer;
}

Shell::Asked Consoles::ask_session(std::string_view verb, const Shell::Args& args) {
  const auto key = args.value("key", std::uint32_t{0});
  if (client_ && !connected_to_.empty() && connected_for_ == key)
    return ask(std::string(connected_to_), verb, args);
  const auto found = look();
  auto console = console_of(found, key);
  // A query for the session shows it, whoever owns it.
  if (!console && verb == "lst show_session") console = console_of(found, 0);
  if (!console) return std::unexpected(console.error());
  connected_for_ = key;
  return ask(console->socket, verb, args);
}

}  // namespace plnet::lst
