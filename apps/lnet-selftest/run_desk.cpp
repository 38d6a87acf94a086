// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run_desk.hpp"

#include <fstream>
#include <sstream>
#include <utility>

namespace plnet::run {
namespace {

constexpr Duration kLatencyTimeout = std::chrono::seconds(5);

}  // namespace

ConsoleDesk::ConsoleDesk(std::string run_folder, std::string instance, lst::ConsoleStart start,
                         const Clock& clock)
    : consoles_(std::move(run_folder), clock),
      instance_(std::move(instance)),
      start_(std::move(start)),
      clock_(clock) {}

Desk::Asked ConsoleDesk::begin_session(const Args& args) {
  key_ = args.value("key", std::uint32_t{0});
  return lst::begin_session(consoles_, start_, instance_, args, started_);
}

Desk::Asked ConsoleDesk::ask(std::string_view verb, const Args& args) {
  return consoles_.ask_session(verb, args);
}

CpuTimes ConsoleDesk::cpu_times() {
  const std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  return read_cpu_times(text.str());
}

// Of the node whose console has the session. A connection of its own: a node that does not know
// the question must not cost the session's.
std::optional<lst::Json> ConsoleDesk::ask_latency() {
  if (!tells_latency_) return std::nullopt;
  const auto found = lst::console_of(consoles_.look(), key_);
  if (!found) return std::nullopt;
  auto client = runtime::ControlClient::connect(found->socket, clock_);
  if (!client) return std::nullopt;
  auto answer = client->call("selftest latency", nlohmann::json::object(), kLatencyTimeout);
  tells_latency_ = answer.has_value();
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

void ConsoleDesk::begin_latency(const Point& point) {
  operation_ = text_of(point.operation);
  before_ = ask_latency();
}

std::optional<Latency> ConsoleDesk::end_latency() {
  const auto before = std::exchange(before_, std::nullopt);
  if (!before) return std::nullopt;
  const auto after = ask_latency();
  if (!after) return std::nullopt;
  const auto figures = lst::latency_between(*before, *after, operation_);
  if (!figures || figures->count == 0) return std::nullopt;
  was_client_ = true;
  return *figures;
}

std::string ConsoleDesk::latency_note() const {
  if (was_client_) {
    return "of the RPCs that the node of this machine began as a client; the protocol carries "
           "none, "
           "so that nothing is known of other clients";
  }
  return "not known: the protocol carries none, and the node of this machine was no client";
}

}  // namespace plnet::run
