// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/stage.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>

#include "apps/lnet-pin/run/machine_settings.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/control/client.hpp"

namespace plnet::pin {
namespace {

constexpr auto kLookLeast = std::chrono::milliseconds(40);
constexpr auto kLookMost = std::chrono::milliseconds(200);
constexpr auto kNap = std::chrono::milliseconds(100);  // delay until an interrupt is noticed
constexpr auto kNodeLook = std::chrono::seconds(1);    // delay until an ended node is noticed
constexpr auto kStartMax = std::chrono::seconds(300);  // emulated machines are slow
constexpr auto kEndMax = std::chrono::seconds(20);
constexpr auto kAskMax = std::chrono::seconds(5);
constexpr auto kPauseAfterFailure = std::chrono::seconds(2);
constexpr double kNanoPerMicro = 1000;

// A node that lives as long as its standard input: it ends with lnet-pin in every case, and with
// the connection to its host. Its input begins with the configuration, whose length is given.
constexpr const char* kNodeScript =
    "umask 077; mkdir -p {folder}/{role}.claims; f={folder}/{role}.$$.yaml; head -c {bytes} "
    ">\"$f\" || exit 1; "
    "exec 3<&0; {program} --config \"$f\" --socket {folder}/{role}.sock --lock-dir "
    "{folder}/{role}.claims "
    "--instance {role} </dev/null 3<&- & p=$!; echo \"lnet-pin node $p\"; "
    "( while read -r x <&3; do :; done; kill -TERM $p ) 2>/dev/null & c=$!; "
    "{neighbour}"
    "wait $p; s=$?; kill $c $n 2>/dev/null; rm -rf \"$f\" {folder}/{role}.sock "
    "{folder}/{role}.claims; rmdir {folder} 2>/dev/null; exit $s";

constexpr const char* kNeighbourScript =
    "taskset -c {cpu} sh -c 'while kill -0 $PPID 2>/dev/null; do i=0; while [ $i -lt 200000 ]; do "
    "i=$((i+1)); done; done' 3<&- & n=$!; ";

double own_cpu_seconds() {
  rusage used{};
  (void)::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Checks of long operations become rarer, since they cost CPU time, too.
void sleep_between_looks(Duration waited) {
  std::this_thread::sleep_for(std::clamp<Duration>(waited / 5, kLookLeast, kLookMost));
}

// On another host a word passes through one more shell than here.
std::string quoted(const std::string& script) {
  std::string text = "'";
  for (const char letter : script)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::vector<std::string> words_of(const Lab& lab, Role role, const std::string& script) {
  std::vector<std::string> words = lab.prefix(role);
  const bool through_ssh = !words.empty() && words.front() == "ssh";
  words.insert(words.end(), {"sh", "-c", through_ssh ? quoted(script) : script});
  return words;
}

struct Log {
  std::string text;
  [[nodiscard]] bool has(std::string_view words) const {
    return text.find(words) != std::string::npos;
  }
  [[nodiscard]] pid_t node() const {
    constexpr std::string_view kMark = "lnet-pin node ";
    const auto at = text.find(kMark);
    if (at == std::string::npos) return 0;
    const auto begin = at + kMark.size();
    const auto end = text.find('\n', begin);
    return whole_number<pid_t>(std::string_view(text).substr(begin, end - begin)).value_or(0);
  }
};

// The sum, or the maximum, of a counter over all shards.
std::optional<double> over_shards(const Json& json, const char* key, bool largest) {
  std::optional<double> result;
  if (json.is_object() && json.contains(key) && json[key].is_number())
    result = json[key].get<double>();
  if (!json.is_structured()) return result;
  for (const auto& [name, inner] : json.items()) {
    if (const auto value = over_shards(inner, key, largest))
      result = largest ? std::max(result.value_or(0), *value) : result.value_or(0) + *value;
  }
  return result;
}

}  // namespace

LabStage::LabStage(const Plan& plan, const Machine& machine, Lab& lab, Changes& changes,
                   StageSetup setup, const Clock& clock, Stopped stopped)
    : plan_(plan),
      machine_(machine),
      lab_(lab),
      changes_(changes),
      setup_(std::move(setup)),
      clock_(clock),
      stopped_(std::move(stopped)) {}

std::string LabStage::program(const char* name) const {
  return setup_.programs.empty() ? name : fmt::format("{}/{}", setup_.programs, name);
}

Outcome<Figures> LabStage::measure(std::size_t index) {
  if (auto ready = await_next_attempt(index); !ready)
    return std::unexpected(std::move(ready.error()));
  auto figures = measure_once(plan_.placements[index]);
  failed_ = index;
  failures_ = figures ? 0 : failures_ + 1;
  return figures;
}

Outcome<Figures> LabStage::measure_once(const Placement& placement) {
  ++number_;
  const double cpu_before = own_cpu_seconds();
  auto set = make_settings(settings_of(placement, machine_, plan_.sweep.interfaces), changes_,
                           setup_.root);
  Outcome<Figures> figures = failure(Errc::kInvalid, "not measured");
  if (!set) {
    figures = std::unexpected(std::move(set.error()));
  } else {
    Nodes nodes;
    Outcome<void> started;
    for (const Role role : lab_.roles()) {
      started = start_node(role, placement, nodes);
      if (!started) break;
    }
    figures = started ? drive(placement, nodes) : std::unexpected(std::move(started.error()));
    end_nodes(nodes);
  }
  const auto complaints = changes_.restore_files();
  if (figures) figures->harness_cpu_seconds += own_cpu_seconds() - cpu_before;
  if (figures && !complaints.empty()) return failure(Errc::kIo, complaints.front());
  return figures;
}

// A busy neighbour of a failed measurement, such as a program that holds the huge pages, may have
// ended by the next attempt.
Outcome<void> LabStage::await_next_attempt(std::size_t placement) {
  if (failed_ != placement) failures_ = 0;
  const Instant end = clock_.now() + kPauseAfterFailure * failures_;
  while (clock_.now() < end && !stopped_())
    std::this_thread::sleep_for(std::min<Duration>(kNap, end - clock_.now()));
  if (stopped_()) return failure(Errc::kCancelled, "interrupted");
  return {};
}

Outcome<void> LabStage::start_node(Role role, const Placement& placement, Nodes& nodes) {
  const bool measured = role == plan_.sweep.measured;
  const std::string config = node_config(lab_, role, measured ? &placement : nullptr, plan_.others);
  std::string neighbour;
  if (measured && placement.busy_neighbour) {
    neighbour = fmt::format(fmt::runtime(kNeighbourScript),
                            fmt::arg("cpu", placement.cpts.front().cpus.front()));
  }
  const std::string words = role == Role::kRouter ? program("lnet-router") + " --drain-timeout 0"
                                                  : program("lnet-selftest") + " node";
  const std::string script =
      fmt::format(fmt::runtime(kNodeScript), fmt::arg("folder", lab_.folder()),
                  fmt::arg("role", text_of(role)), fmt::arg("bytes", config.size()),
                  fmt::arg("program", words), fmt::arg("neighbour", neighbour));
  RunningNode& node = nodes[role];
  node.log = fmt::format("{}/{}.{}.log", lab_.folder(), text_of(role), number_);
  std::vector<unsigned> cpus;  // CPUs for lnet-pin itself
  for (const runtime::HardwareThread& thread : machine_.topology.threads) {
    if (thread.allowed()) cpus.push_back(thread.cpu);
  }
  auto child =
      Child::start({.words = words_of(lab_, role, script), .output = node.log, .cpus = cpus});
  if (!child) return std::unexpected(std::move(child.error()));
  node.child = std::move(*child);
  (void)node.child->write(config);  // an ended node is detected below
  return await_node(role, node);
}

Outcome<void> LabStage::await_node(Role role, RunningNode& node) {
  const Instant begin = clock_.now();
  std::uintmax_t seen = 0;
  while (true) {
    const auto status = node.child->ended();  // read before its log, which is then complete
    std::error_code error;
    if (const auto size = std::filesystem::file_size(node.log, error); size != seen) {
      seen = size;
      const Log log{text_so_far(node.log)};
      node.pid = log.node();
      if (log.has("event=ready")) return {};
    }
    if (status) {
      return failure(Errc::kIo, fmt::format("the {} ended with {}: {}", text_of(role), *status,
                                            last_line(text_so_far(node.log))));
    }
    if (stopped_()) return failure(Errc::kCancelled, "interrupted");
    if (clock_.now() > begin + kStartMax) {
      return failure(
          Errc::kTimedOut,
          fmt::format("the {} was not ready after {} s: {}", text_of(role),
                      kStartMax / std::chrono::seconds(1), last_line(text_so_far(node.log))));
    }
    sleep_between_looks(clock_.now() - begin);
  }
}

Outcome<std::unique_ptr<Engine>> LabStage::start_engine() const {
  // The console is the client's node. A software NIC has no path to its own address.
  const EngineTask task{.load = plan_.sweep.workload,
                        .from = lab_.is_in_software(0) ? "0@lo" : lab_.nid(Role::kClient, 0),
                        .to = lab_.nid(Role::kServer, lab_.side_of(Role::kServer))};
  if (lab_.is_local(Role::kClient)) {
    return engine_here(task, fmt::format("{}/{}.sock", lab_.folder(), text_of(Role::kClient)),
                       clock_);
  }
  const std::string script = engine_script(task, program("lnet-selftest"), lab_.folder());
  return engine_there(task,
                      {.words = words_of(lab_, Role::kClient, script),
                       .output = fmt::format("{}/engine.{}.json", lab_.folder(), number_),
                       .errors = fmt::format("{}/engine.{}.log", lab_.folder(), number_),
                       .cpus = plan_.others},
                      clock_);
}

Outcome<Figures> LabStage::drive(const Placement& placement, Nodes& nodes) {
  const Role measured = plan_.sweep.measured;
  std::optional<NodeWatch> watch;
  if (lab_.is_local(measured)) {
    watch.emplace(nodes.at(measured).pid, placement.cpus(), setup_.root);
    counters_note_ = watch->counters_note();
  } else {
    counters_note_ = "the placed node is on another machine";
  }
  auto engine = start_engine();
  if (!engine) return std::unexpected(std::move(engine.error()));
  if (auto done = await_engine(**engine, nodes, watch ? &*watch : nullptr); !done)
    return std::unexpected(std::move(done.error()));
  auto figures = (*engine)->figures();
  if (!figures) return figures;
  figures->harness_cpu_seconds = (*engine)->cpu_seconds();
  if (watch) {
    watch->read(*figures, plan_.sweep.workload.duration);
    ask_node(*figures);
  }
  return figures;
}

Outcome<void> LabStage::check_nodes(Nodes& nodes) {
  for (auto& [role, node] : nodes) {
    if (const auto status = node.child->ended()) {
      return failure(Errc::kReset, fmt::format("the {} has gone ({}): {}", text_of(role), *status,
                                               last_line(text_so_far(node.log))));
    }
  }
  return {};
}

Outcome<void> LabStage::await_engine(Engine& engine, Nodes& nodes, NodeWatch* watch) const {
  while (true) {
    const auto next = engine.step();
    if (watch != nullptr) watch->sample(clock_.now());
    // An ended node is the reason of any failure.
    if (auto alive = check_nodes(nodes); !alive) return alive;
    if (!next) return std::unexpected(next.error());
    const std::optional<Instant>& when = *next;
    if (!when) return {};
    Instant look = clock_.now() + kNodeLook;
    for (Instant now = clock_.now(); now < *when && !stopped_(); now = clock_.now()) {
      std::this_thread::sleep_for(std::min<Duration>(kNap, *when - now));
      if (now < look) continue;
      look = now + kNodeLook;
      if (auto alive = check_nodes(nodes); !alive) return alive;
    }
    if (stopped_()) return failure(Errc::kCancelled, "interrupted");
  }
}

void LabStage::ask_node(Figures& figures) const {
  const std::string socket =
      fmt::format("{}/{}.sock", lab_.folder(), text_of(plan_.sweep.measured));
  auto client = runtime::ControlClient::connect(socket, clock_);
  if (!client) return;
  const auto reply = client->call("cpt show", {{"verbose", 1}}, kAskMax);
  if (!reply) return;
  const Json json = Json::parse(reply->dump(), nullptr, false);
  figures.duty_percent = over_shards(json, "duty cycle percent", false);
  if (const auto longest = over_shards(json, "longest_turn_nsec", true))
    figures.longest_turn_us = *longest / kNanoPerMicro;
  figures.hops = over_shards(json, "hops_out", false);
  figures.remote_buffers = over_shards(json, "remote_buffers", false);
}

void LabStage::end_nodes(Nodes& nodes) {
  for (auto& [role, node] : nodes) {
    if (node.child) node.child->close_input();
  }
  const Instant begin = clock_.now();
  for (auto& [role, node] : nodes) {
    while (node.child && !node.child->ended() && clock_.now() < begin + kEndMax)
      sleep_between_looks(clock_.now() - begin);
  }
}

}  // namespace plnet::pin
