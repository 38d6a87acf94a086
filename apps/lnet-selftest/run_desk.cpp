// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run_desk.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <sched.h>

#include "apps/lnet-selftest/baseline/bare_pair.hpp"
#include "apps/lnet-selftest/baseline/exchange.hpp"
#include "apps/lnet-selftest/baseline/memory_copy.hpp"
#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace plnet::run {
namespace {

constexpr Duration kNodeTimeout = std::chrono::seconds(5);
constexpr std::size_t kNodesNamedMax = 5;

constexpr Duration kFloorDuration = std::chrono::milliseconds(400);
constexpr Duration kCopyDuration = std::chrono::milliseconds(50);
constexpr double kMib = 1024.0 * 1024.0;

std::optional<std::array<unsigned, 2>> first_two_cpus() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return std::nullopt;
  std::optional<unsigned> first;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mine)) continue;
    if (first) return std::array{*first, cpu};
    first = cpu;
  }
  return std::nullopt;
}

Duration own_cpu_time() {
  timespec time{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Per cent of the time of both CPUs. The kernel counts in ticks, mostly of 10 ms: two of each CPU
// are forgiven.
double taken_by_others(const CpuTimes& before, const CpuTimes& after,
                       const std::array<unsigned, 2>& cpus, Duration ours, Duration past) {
  constexpr double kTickSeconds = 0.01;
  const double all = std::chrono::duration<double>(past).count();
  if (all <= 0) return 0;
  double busy = 0;
  for (const CpuUse& use : use_between(before, after)) {
    if (std::ranges::find(cpus, use.cpu) != cpus.end())
      busy += (use.busy_percent + use.steal_percent) / 100 * all;
  }
  const double forgiven = 2 * kTickSeconds * static_cast<double>(cpus.size());
  const double others = busy - std::chrono::duration<double>(ours).count() - forgiven;
  return std::max(0.0, others / (all * static_cast<double>(cpus.size())) * 100);
}

}  // namespace

ConsoleDesk::ConsoleDesk(std::string run_folder, std::string instance, lst::ConsoleStart start,
                         const Clock& clock)
    : consoles_(std::move(run_folder), clock),
      instance_(std::move(instance)),
      start_(std::move(start)),
      clock_(clock) {}

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

// A separate connection: a node that does not know the verb must not end the session's.
Outcome<lst::Json> ConsoleDesk::ask_node(const std::string& socket, std::string_view verb,
                                         const Args& args) const {
  auto client = runtime::ControlClient::connect(socket, clock_);
  if (!client) return std::unexpected(std::move(client.error()));
  auto answer = client->call(verb, args, kNodeTimeout);
  if (!answer) return failure(Errc::kIo, answer.error().faults.front().what);
  if (auto refused = lst::refusal_of(*answer)) return failure(Errc::kIo, std::move(refused->why));
  return std::move(*answer);
}

Outcome<std::vector<std::string>> ConsoleDesk::nodes_at(const std::string& socket) const {
  const auto answer = ask_node(socket, "selftest nids", Args::object());
  if (!answer) return std::unexpected(answer.error());
  std::vector<std::string> nodes;
  if (!answer->is_object() || !answer->contains("nids") || !(*answer)["nids"].is_array())
    return failure(Errc::kInvalid, "an answer without NIDs");
  for (const lst::Json& nid : (*answer)["nids"]) {
    if (!nid.is_string()) continue;
    if (const auto id = lnet::parse_process_id(nid.get<std::string>()))
      nodes.push_back(lnet::text_of(*id));
  }
  return nodes;
}

void ConsoleDesk::know(const Plan& plan, const std::string& node, const std::string& socket) {
  const bool is_client = std::ranges::find(plan.from, node) != plan.from.end();
  const bool is_server = std::ranges::find(plan.to, node) != plan.to.end();
  const bool known = std::ranges::find(known_, node, &Known::node) != known_.end();
  if (known || (!is_client && !is_server)) return;
  known_.push_back({node, socket, is_client ? Role::kClient : Role::kServer});
  learn_cpts(known_.back());
}

void ConsoleDesk::learn_cpts(const Known& known) {
  const auto answer = ask_node(known.socket, "cpt show", Args::object());
  if (!answer || !answer->is_object() || !answer->contains("cpt")) return;
  for (const lst::Json& each : (*answer)["cpt"]) {
    NodeCpt cpt{.node = known.node, .cpt = each.value("cpt", 0U)};
    if (!each.contains("shards")) continue;
    for (const lst::Json& shard : each["shards"])
      if (shard.contains("cpu")) cpt.cpus.push_back(shard.value("cpu", 0U));
    cpts_.push_back(std::move(cpt));
  }
}

std::vector<std::string> ConsoleDesk::nids() const {
  std::vector<std::string> nids;
  nids.reserve(known_.size());
  for (const Known& each : known_)
    nids.push_back(each.node.substr(each.node.find('-') + 1));
  return nids;
}

// A router needs no selftest: its name is its first NID.
Outcome<void> ConsoleDesk::meet_router(const std::string& socket) {
  const auto wrong = [&](const std::string& what) {
    return failure(Errc::kIo, fmt::format("router '{}': {}", socket, what));
  };
  const auto answer = ask_node(socket, "net show", Args::object());
  if (!answer) return wrong(answer.error().what);
  for (const lst::Json& net : answer->value("net", lst::Json::array())) {
    if (net.value("net type", "") == "lo") continue;
    for (const lst::Json& ni : net.value("local NI(s)", lst::Json::array())) {
      known_.push_back({ni.value("nid", ""), socket, Role::kRouter});
      learn_cpts(known_.back());
      return {};
    }
  }
  return wrong("it has no network");
}

PollerTimes ConsoleDesk::poller_times() {
  PollerTimes all;
  for (const Known& each : known_) {
    const auto cpts = ask_node(each.socket, "cpt show", {{"verbose", 1}});
    const auto statistics = ask_node(each.socket, "stats show", Args::object());
    if (!cpts) continue;
    if (auto times =
            read_times(each.node, each.role, *cpts, statistics ? *statistics : lst::Json::object()))
      all.push_back(std::move(*times));
  }
  return all;
}

std::map<std::string, std::string> ConsoleDesk::configurations() const {
  std::map<std::string, std::string> all;
  for (const Known& each : known_) {
    const auto answer = ask_node(each.socket, "export", {{"backup", true}});
    if (answer && answer->is_object()) all[each.node] = runtime::print_yaml(*answer);
  }
  return all;
}

Outcome<void> ConsoleDesk::meet(const Plan& plan) {
  if (auto met = meet_nodes(plan); !met) return met;
  for (const std::string& socket : plan.routers) {
    if (auto met = meet_router(socket); !met) return met;
  }
  return {};
}

Outcome<void> ConsoleDesk::meet_nodes(const Plan& plan) {
  clients_ = plan.from.size();
  arrivals_ = plan.arrivals;
  for (const auto& [node, socket] : plan.control) {
    const auto nodes = nodes_at(socket);
    if (!nodes)
      return failure(Errc::kIo, fmt::format("control of {}: {}", node, nodes.error().what));
    if (std::ranges::find(*nodes, node) == nodes->end())
      return failure(Errc::kInvalid,
                     fmt::format("control of {}: '{}' is of another node", node, socket));
    know(plan, node, socket);
  }
  for (const lst::FoundConsole& here : consoles_.look()) {
    if (here.silent) continue;  // a client that needs its pace is reported as missing
    const auto nodes = nodes_at(here.socket);
    if (!nodes) continue;  // another version without these figures
    for (const std::string& node : *nodes)
      know(plan, node, here.socket);
  }
  if (plan.rates.empty() && !plan.highest_rate) return {};
  for (const std::string& client : plan.from) {
    if (std::ranges::find(known_, client, &Known::node) != known_.end()) continue;
    return failure(
        Errc::kInvalid,
        fmt::format("the pace of {} cannot be set: it is no node of this host, and the plan has "
                    "no control socket for it (control, --control NID=SOCKET)",
                    client));
  }
  return {};
}

Desk::Asked ConsoleDesk::set_pace(const Point& point) {
  std::int64_t seed = 1;
  for (const Known& each : known_) {
    if (!each.is_client()) continue;
    const auto set = ask_node(each.socket, "selftest pace",
                              {{"rate", point.rate / static_cast<double>(clients_)},
                               {"arrivals", text_of(arrivals_)},
                               {"seed", seed++}});
    if (!set) return std::unexpected(lst::Refusal{EIO, each.node + ": " + set.error().what});
  }
  return lst::Json::object();
}

void ConsoleDesk::begin_latency(const Point& point) {
  operation_ = text_of(point.operation);
  for (Known& each : known_) {
    each.before.reset();
    if (!each.is_client()) continue;
    if (auto answer = ask_node(each.socket, "selftest latency", Args::object()))
      each.before = std::move(*answer);
  }
}

Latencies ConsoleDesk::end_latency() {
  Latencies all;
  lst::LatencySeen sum;
  for (Known& each : known_) {
    const auto before = std::exchange(each.before, std::nullopt);
    if (!before) continue;
    const auto after = ask_node(each.socket, "selftest latency", Args::object());
    if (!after) continue;
    const auto seen = lst::latency_between(*before, *after, operation_);
    if (!seen) continue;
    add_to(sum, *seen);
    all.nodes.push_back({each.node, figures_of(*seen)});
    if (std::ranges::find(told_, each.node) == told_.end()) told_.push_back(each.node);
  }
  all.pace = sum.pace;
  if (const auto figures = figures_of(sum); figures.count > 0) all.all = figures;
  return all;
}

std::optional<Floor> ConsoleDesk::measure_floor(const Point& point) {
  if (!floor_cpus_) floor_cpus_ = first_two_cpus();
  if (!floor_cpus_) {
    floor_note_ = "not measured: this process may use one CPU only";
    return std::nullopt;
  }
  const auto [client, server] = *floor_cpus_;
  floor_note_ = fmt::format(
      "a connection over this machine's loopback interface between its CPUs {} and {}; it "
      "does not include networks, and pollers on these CPUs with idle: busy slow it "
      "down",
      client, server);
  constexpr std::size_t kSmall = baseline::kSmallBytes + selftest::kMessageBytes;
  baseline::ExchangeShape shape{
      .request_bytes = kSmall, .reply_bytes = kSmall, .ahead = point.concurrency};
  (point.operation == Operation::kWrite ? shape.request_bytes : shape.reply_bytes) += point.size;
  const CpuTimes before = cpu_times();
  const Duration ours_before = own_cpu_time();
  const Instant begun = clock_.now();
  const auto rate = baseline::exchanges_per_second(shape, {client, server}, kFloorDuration, clock_);
  const double disturbed = taken_by_others(before, cpu_times(), {client, server},
                                           own_cpu_time() - ours_before, clock_.now() - begun);
  const auto copied = baseline::bytes_copied_per_second(std::max<std::size_t>(point.size, kSmall),
                                                        client, kCopyDuration, clock_);
  if (!rate || !copied) {
    floor_note_ = "not measured: " + (rate ? copied.error().what : rate.error().what);
    return std::nullopt;
  }
  const Floor floor{.exchange_rate = *rate,
                    .throughput_mibps = *rate * point.size / kMib,
                    .copy_mibps = *copied / kMib,
                    .disturbed_percent = disturbed};
  most_disturbed_ = std::max(most_disturbed_, disturbed);
  if (most_disturbed_ > Floor::kDisturbedPercent) {
    floor_note_ += fmt::format(
        "; others took up to {:.0f} % of these CPUs meanwhile: repeats after such a disturbed "
        "measurement are not compared with it",
        most_disturbed_);
  }
  return floor;
}

std::string ConsoleDesk::latency_note() const {
  if (told_.empty()) {
    return "unknown: the protocol carries none; known for nodes of this host, and for nodes whose "
           "control sockets are in the plan";
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(told_.size(), kNodesNamedMax); ++i) {
    if (i > 0) names += ", ";
    names += told_[i];
  }
  if (told_.size() > kNodesNamedMax)
    names += fmt::format(" and {} more", told_.size() - kNodesNamedMax);
  return fmt::format(
      "of the RPCs that {} began ({}); the protocol carries none, so that those of "
      "other clients are unknown",
      counted(told_.size(), clients_, "client"), names);
}

}  // namespace plnet::run
