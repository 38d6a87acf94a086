// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/figures.hpp"

#include <array>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace plnet::pin {
namespace {

using Json = nlohmann::ordered_json;

struct Always {
  const char* name;
  double Figures::* value;
};
struct Perhaps {
  const char* name;
  std::optional<double> Figures::* value;
};
constexpr std::array<Always, 5> kAlways{{{"throughput_mibps", &Figures::throughput_mibps},
                                         {"rpc_rate", &Figures::rpc_rate},
                                         {"steal_percent", &Figures::steal_percent},
                                         {"throttled", &Figures::throttled},
                                         {"harness_cpu_seconds", &Figures::harness_cpu_seconds}}};
constexpr std::array<Perhaps, 11> kPerhaps{{{"p50_us", &Figures::p50_us},
                                            {"p99_us", &Figures::p99_us},
                                            {"busy_cores", &Figures::busy_cores},
                                            {"cpu_seconds", &Figures::cpu_seconds},
                                            {"duty_percent", &Figures::duty_percent},
                                            {"longest_turn_us", &Figures::longest_turn_us},
                                            {"hops", &Figures::hops},
                                            {"remote_buffers", &Figures::remote_buffers},
                                            {"joules", &Figures::joules},
                                            {"preempted", &Figures::preempted},
                                            {"migrations", &Figures::migrations}}};
constexpr std::size_t kCountersMax = 16;

double finite(const Json& json) {
  const auto value = json.get<double>();
  if (!std::isfinite(value) || value < 0) throw std::out_of_range("a figure is not negative");
  return value;
}

}  // namespace

Json json_of(const Figures& figures) {
  Json json;
  for (const Always& each : kAlways)
    json[each.name] = figures.*each.value;
  for (const Perhaps& each : kPerhaps) {
    if (const auto& value = figures.*each.value) json[each.name] = *value;
  }
  json["errors"] = figures.errors;
  if (!figures.counters.empty()) json["counters"] = figures.counters;
  return json;
}

Outcome<Figures> figures_of(const Json& json) {
  try {
    Figures figures;
    for (const Always& each : kAlways)
      figures.*each.value = finite(json.at(each.name));
    for (const Perhaps& each : kPerhaps) {
      if (json.contains(each.name)) figures.*each.value = finite(json.at(each.name));
    }
    figures.errors = json.at("errors").get<std::uint64_t>();
    if (json.contains("counters")) {
      for (const auto& [name, value] : json.at("counters").items()) {
        if (figures.counters.size() < kCountersMax) figures.counters[name] = finite(value);
      }
    }
    return figures;
  } catch (const std::exception& error) {
    return failure(Errc::kMalformed, error.what());
  }
}

std::string disturbance_of(const Figures& figures, double steal_max_percent) {
  std::string text;
  if (figures.steal_percent > steal_max_percent) {
    text = fmt::format("a hypervisor took {:.1f} % of its CPUs", figures.steal_percent);
  }
  if (figures.throttled > 0) text += fmt::format("{}a core was too hot", text.empty() ? "" : "; ");
  return text;
}

}  // namespace plnet::pin
