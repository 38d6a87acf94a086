// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run_desk.hpp"

#include <fstream>
#include <sstream>
#include <utility>

namespace plnet::run {

ConsoleDesk::ConsoleDesk(std::string run_folder, std::string instance, lst::ConsoleStart start,
                         const Clock& clock)
    : consoles_(std::move(run_folder), clock),
      instance_(std::move(instance)),
      start_(std::move(start)) {}

Desk::Asked ConsoleDesk::begin_session(const Args& args) {
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

void ConsoleDesk::begin_latency(const Point& /*point*/) {}

std::optional<Latency> ConsoleDesk::end_latency() {
  return std::nullopt;
}

std::string ConsoleDesk::latency_note() const {
  return "not known: the protocol carries none, and nodes do not tell it otherwise";
}

}  // namespace plnet::run
