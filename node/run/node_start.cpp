// SPDX-License-Identifier: BSD-3-Clause
// The start of a node, from its settings to running pollers.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/admin/once_log.hpp"
#include "lib/runtime/control/server.hpp"
#include "node/admin/audit_log.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/capture/capture_verbs.hpp"
#include "node/capture/captures.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/lnet_shard.hpp"
#include "node/host/open_families.hpp"
#include "node/host/peer_count.hpp"
#include "node/host/residents.hpp"
#include "node/host/settled_config.hpp"
#include "node/net/families.hpp"
#include "node/net/family_facts.hpp"
#include "node/run/live_settings.hpp"
#include "node/run/node.hpp"
#include "node/run/node_verbs.hpp"
#include "node/run/status_page.hpp"
#include "node/watch/drain_log.hpp"
#include "node/watch/recent_activity.hpp"
#include "node/watch/recent_lines.hpp"

namespace plnet::node {
namespace {

using runtime::LogLevel;
using runtime::LogLimit;
using runtime::LogSite;

constexpr LogSite kStarting{LogLevel::kInfo, "starting", {"instance", "version", "socket"}};
constexpr LogSite kPlan{LogLevel::kInfo, "plan", {"by", "cpts", "shards", "idle", "why"}};
constexpr LogSite kPlanWarning{
    LogLevel::kWarning, "plan_warning", {"kind", "text"}, LogLimit::kCaller};
constexpr LogSite kMemory{LogLevel::kInfo, "memory", {"text"}, LogLimit::kCaller};
constexpr LogSite kHostNote{LogLevel::kInfo, "host_note", {"what", "fix"}, LogLimit::kCaller};
constexpr LogSite kHostWarning{
    LogLevel::kWarning, "host_warning", {"what", "why", "fix"}, LogLimit::kCaller};
constexpr LogSite kEalError{LogLevel::kError, "eal", {"line"}};
constexpr LogSite kEalWarning{LogLevel::kWarning, "eal", {"line"}};
constexpr LogSite kEalDetail{LogLevel::kDebug, "eal", {"line"}};
constexpr LogSite kNoDescriptors{LogLevel::kError, "out_of_descriptors", {}};
constexpr LogSite kSignal{LogLevel::kInfo, "signal", {"number"}};
constexpr LogSite kBadInput{LogLevel::kWarning, "bad_input", {"from", "cause"}};
constexpr LogSite kBadInputGoesOn{
    LogLevel::kWarning, "bad_input_goes_on", {"from", "cause", "repeated"}};
constexpr LogSite kPeerRefused{LogLevel::kWarning, "peer_refused", {"nid", "why"}};
constexpr LogSite kPeerRefusedGoesOn{
    LogLevel::kWarning, "peer_refused_goes_on", {"nid", "why", "repeated"}};

constexpr CounterInfo kBuildInfo{"info", "", CounterKind::kGauge,
                                 "always 1; the labels name the program"};

// DPDK opens some 20 and each poller 3; the rest is for clients and devices.
constexpr rlim_t kOpenFilesMin = 256;
// One for each connection: as many as the process may have, up to the need of the largest site.
constexpr rlim_t kOpenFilesWanted = 65536;
// Period of printing the pollers' records and collecting finished commands.
constexpr Duration kDrainPeriod = std::chrono::milliseconds(100);
constexpr Duration kSumPeriod = std::chrono::seconds(1);
constexpr Duration kNicPeriod = std::chrono::seconds(1);  // NICs send no events

// The parent process may ignore SIGHUP and SIGINT for this one (nohup, `&` of a script). Linux
// would deliver an ignored signal once a signalfd watches it.
std::vector<int> ending_signals() {
  std::vector<int> signals{SIGTERM};
  for (const int number : {SIGINT, SIGHUP}) {
    struct sigaction said{};
    if (::sigaction(number, nullptr, &said) != 0 || said.sa_handler != SIG_IGN)
      signals.push_back(number);
  }
  return signals;
}

bool has_terminal() {
  const runtime::Descriptor terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  return terminal.valid();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizerCatches = true;
#elif defined(__has_feature)
constexpr bool kSanitizerCatches =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitizerCatches = false;
#endif

// libfabric's shm provider catches these signals as soon as the library is loaded, and ends the
// process without a core file and with a wrong status.
void restore_crash_signals() {
  if (kSanitizerCatches) return;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    (void)std::signal(number, SIG_DFL);
}

const LogSite& eal_site(runtime::EalLevel level) {
  switch (level) {
    case runtime::EalLevel::kError: return kEalError;
    case runtime::EalLevel::kWarning: return kEalWarning;
    case runtime::EalLevel::kDetail: return kEalDetail;
  }
  return kEalDetail;
}

void write_finding(runtime::Log& log, const runtime::Finding& finding) {
  if (finding.severity == runtime::Severity::kNote) {
    log.write(kHostNote, {finding.what, finding.fix});
  } else {
    log.write(kHostWarning, {finding.what, finding.why, finding.fix});
  }
}

// systemd names the file that its journal reads.
bool stderr_is_journal() {
  const char* const named = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
  struct stat error{};
  return named != nullptr && ::fstat(STDERR_FILENO, &error) == 0 &&
         fmt::format("{}:{}", error.st_dev, error.st_ino) == named;
}

}  // namespace

Outcome<std::unique_ptr<Node>> Node::start(const runtime::Settings& settings,
                                           const NodeOptions& options) {
  std::unique_ptr<Node> node(new Node(settings, options));
  using Step = Outcome<void> (Node::*)();
  if (auto able = check_limits(); !able) return std::unexpected(able.error());
  for (const Step step : {&Node::open_admin, &Node::open_control, &Node::take_machine,
                          &Node::build_pollers, &Node::launch}) {
    if (auto done = (node.get()->*step)(); !done) return std::unexpected(done.error());
  }
  return node;
}

Node::Node(const runtime::Settings& settings, const NodeOptions& options)
    : schema_(family_sections()),
      settings_(settings),
      options_(options),
      has_terminal_(has_terminal()),
      recent_lines_(std::make_unique<RecentLines>()),
      activity_(std::make_unique<RecentActivity>()) {}

Node::~Node() {
  end_pollers();
}

// Checked before any descriptor is needed: DPDK aborts without a message if it lacks one.
Outcome<void> Node::check_limits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kOpenFilesWanted) return {};
  const bool enough = files.rlim_cur >= kOpenFilesMin;
  files.rlim_cur = std::min<rlim_t>(kOpenFilesWanted, files.rlim_max);
  const bool raised = ::setrlimit(RLIMIT_NOFILE, &files) == 0;
  if (enough || (raised && files.rlim_cur >= kOpenFilesMin)) return {};
  return failure(Errc::kNoMemory, "open files: at most " + std::to_string(files.rlim_cur) +
                                      " allowed, expected " + std::to_string(kOpenFilesMin) +
                                      " or more; `ulimit -n " + std::to_string(kOpenFilesMin) +
                                      "` allows them");
}

Outcome<void> Node::open_admin() {
  runtime::LogOptions logs{.level = settings_.log.level, .journal = stderr_is_journal()};
  logs.annotate = [names = options_.nic_names](std::string_view line) {
    const std::string hosts = names.names_in(line);
    return hosts.empty() ? hosts : " hosts=" + runtime::log_value_text(hosts);
  };
  logs.capture = [lines = recent_lines_.get()](std::string_view line) { lines->add(line); };
  auto log = runtime::Log::open(logs, system_clock_, wall_clock_);
  if (!log) return std::unexpected(log.error());
  log_ = std::move(*log);
  log_->write(kStarting, {options_.instance, PLNET_VERSION, options_.socket.path});

  auto loop = runtime::EventLoop::create(system_clock_);
  if (!loop) return std::unexpected(loop.error());
  loop_ = std::move(*loop);
  // Before any thread exists, so that every thread has the signals blocked.
  auto watched = loop_->watch_signals(ending_signals(), [this](int number) {
    log_->write(kSignal, {std::to_string(number)});
    on_signal(number);
  });
  if (!watched) return watched;
  bad_input_ = std::make_unique<runtime::OnceLog>(
      *log_, runtime::OnceLog::Sites{kBadInput, kBadInputGoesOn}, system_clock_);
  refused_peers_ = std::make_unique<runtime::OnceLog>(
      *log_, runtime::OnceLog::Sites{kPeerRefused, kPeerRefusedGoesOn}, system_clock_);
  loop_->add_timer(kSumPeriod, kSumPeriod, [this] {
    bad_input_->sum_up();
    refused_peers_->sum_up();
  });
  loop_->add_timer(kNicPeriod, kNicPeriod, [this] {
    for_each_family([](FamilyHost& family) { family.look_at_devices(); });
    if (lnet_) lnet_->look_at_nics();
  });
  loop_->add_timer(RecentActivity::kPeriod, RecentActivity::kPeriod, [this] { sample_activity(); });
  loop_->add_timer(kDrainPeriod, kDrainPeriod, [this] {
    log_->drain();
    for_each_family([this](FamilyHost& family) { family.say(*log_, *bad_input_); });
    if (lnet_) {
      lnet_->tell_of_routes(*log_);
      lnet_->say_standing();
      lnet_->say_complaints(*bad_input_);
      lnet_->say_refused_peers(*refused_peers_);
    }
    for (auto& poller : pollers_)
      poller->commands().drain();
  });
  metrics_.name_hosts(
      [names = options_.nic_names](std::string_view nid) { return names.names_in(nid); });
  metrics_.add("build", {{"version", PLNET_VERSION}},
               {.info = std::span(&kBuildInfo, 1), .values = std::span(&one_, 1)});
  metrics_http_ = std::make_unique<runtime::MetricsHttp>(metrics_);
  lnet_ = std::make_unique<LnetAdmin>(*log_);
  status_page_ = std::make_unique<StatusPage>(*this, *recent_lines_);
  return {};
}

// Early: a second node on the same socket is refused before it takes CPUs and memory. Requests are
// answered when the loop runs.
Outcome<void> Node::open_control() {
  add_node_verbs(verbs_, *this, lnet_.get());
  add_capture_verbs(verbs_, [this] { return captures_.get(); });
  for (const NetworkFamily* family : network_families())
    family->add_verbs(verbs_, *lnet_);
  if (options_.residents != nullptr) options_.residents->add_verbs(verbs_, *lnet_);
  verbs_.set_audit([this](const runtime::VerbRow& row, const runtime::Caller& caller,
                          const std::string& args) { log_command(row, caller, args, *log_); });
  runtime::ServerOptions server;
  server.socket = options_.socket;
  server.access.own_uid = ::geteuid();
  server.access.group = options_.admin_group;
  server.out_of_descriptors = [this] { log_->write(kNoDescriptors, {}); };
  auto control = runtime::ControlServer::start(*loop_, verbs_, std::move(server));
  if (!control) return std::unexpected(control.error());
  control_ = std::move(*control);
  return {};
}

Outcome<void> Node::take_machine() {
  settings_.lnet.routing = will_route(settings_.lnet);  // router buffers and needs depend on it
  auto plan = Machine::plan(settings_, network_families(), options_.residents);
  if (!plan) return std::unexpected(plan.error());
  for (const auto& finding : plan->findings) {
    if (finding.severity != runtime::Severity::kError) continue;
    return failure(Errc::kInvalid, finding.what + ": " + finding.why + "; to fix: " + finding.fix);
  }
  MachineOptions machine_options;
  machine_options.instance = options_.instance;
  machine_options.lock_directory = options_.lock_directory;
  machine_options.residents = options_.residents;
  machine_options.eal_debug = log_->wants(LogLevel::kDebug);
  machine_options.eal_log = [log = log_.get()](runtime::EalLevel level, std::string_view line) {
    log->write(eal_site(level), {line});
  };
  auto machine = Machine::take(std::move(*plan), settings_, machine_options);
  if (!machine) return std::unexpected(machine.error());
  machine_ = std::move(*machine);
  log_start();
  return {};
}

void Node::for_each_family(const std::function<void(FamilyHost&)>& what) const {
  if (families_ == nullptr) return;
  for (const auto& family : families_->hosts())
    what(*family);
}

void Node::log_start() const {
  const auto& plan = machine_->cpts();
  log_->write(kPlan, {name_of(plan.by), std::to_string(plan.cpts.size()),
                      std::to_string(plan.shard_count), name_of(machine_->idle()), plan.reason});
  for (const auto& warning : plan.warnings) {
    log_->write(kPlanWarning, {name_of(warning.kind), warning.text});
  }
  for (const auto& line : machine_->memory_lines())
    log_->write(kMemory, {line});
  for (const auto& finding : machine_->findings())
    write_finding(*log_, finding);
}

Outcome<void> Node::build_pollers() {
  auto regions = token_regions();
  if (!regions) return std::unexpected(regions.error());
  auto families = OpenFamilies::open(network_families(), settings_, *machine_);
  if (!families) return std::unexpected(families.error());
  families_ = std::move(*families);
  restore_crash_signals();
  for_each_family([this](FamilyHost& family) {
    family.add_metrics(metrics_);
    family.log_refused_requests(*log_);
  });
  auto host = LnetHost::create({.machine = *machine_,
                                .limits = settled(settings_.lnet_limits, settings_.lnet.routing,
                                                  machine_->available_memory()),
                                .placement = settings_.lnet_placement,
                                .configured = settings_.lnet,
                                .clock = clock_,
                                .wall_clock = wall_clock_,
                                .metrics = metrics_,
                                .families = *families_,
                                .residents = options_.residents});
  if (!host) return std::unexpected(host.error());
  lnet_host_ = std::move(*host);
  std::vector<runtime::ExchangePlace> places;
  for (std::size_t cpt = 0; cpt < machine_->cpts().cpts.size(); ++cpt) {
    for (const auto& shard : machine_->cpts().cpts[cpt].shards) {
      runtime::PollerOptions poller;
      poller.name = "shard " + std::to_string(shard.number);
      poller.shard = shard.number;
      poller.idle = machine_->idle();
      poller.turn_limit = std::chrono::microseconds(settings_.pollers.turn_limit_usec);
      pollers_.push_back(std::make_unique<runtime::Poller>(clock_, std::move(poller),
                                                           &lnet_host_->place(shard.number)));
      auto& made = *pollers_.back();
      for (const auto* bell : {&made.doorbell(), &made.commands().completion_doorbell()}) {
        if (auto ready = bell->ready(); !ready) return ready;
      }
      auto& region = (*regions)[machine_->cpts().cpts[cpt].memory_node];
      places.push_back({.doorbell = &made.doorbell(),
                        .counters = &made.counters_owner(),
                        .cpu_node = shard.numa_node,
                        .memory_node = static_cast<int>(machine_->cpts().cpts[cpt].memory_node),
                        .memory = region.first(runtime::kExchangeBytesPerShard)});
      region = region.subspan(runtime::kExchangeBytesPerShard);
      metrics_.add("poller",
                   {{"shard", std::to_string(shard.number)},
                    {"cpt", std::to_string(cpt)},
                    {"cpu", std::to_string(shard.cpu)}},
                   made.counters().view());
    }
  }
  exchange_ = std::make_unique<runtime::Exchange>(clock_, places);
  if (auto housed = house_residents(); !housed) return housed;
  return connect_pollers();
}

Outcome<void> Node::house_residents() {
  if (options_.residents == nullptr) return {};
  std::vector<ResidentPlace> places;
  places.reserve(lnet_host_->shards());
  for (unsigned shard = 0; shard < lnet_host_->shards(); ++shard)
    places.push_back(lnet_host_->resident_place(shard));
  const auto cookie = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(wall_clock_.now().time_since_epoch()).count());
  return options_.residents->move_in(places, cookie, metrics_);
}

// The order of a turn: LNet begins it, and ends it after all devices have been polled.
Outcome<void> Node::connect_pollers() {
  std::vector<Doorbell*> doorbells;
  for (unsigned i = 0; i < pollers_.size(); ++i) {
    auto& poller = *pollers_[i];
    doorbells.push_back(&poller.doorbell());
    LnetShard& place = lnet_host_->place(i);
    Pollable& tokens = exchange_->shard(i);
    Pollable* const resident =
        options_.residents == nullptr ? nullptr : &options_.residents->on_shard(i);
    std::vector<Pollable*> parts{&place.opening(), &tokens};
    for_each_family([&parts, i](FamilyHost& family) { parts.push_back(family.on_shard(i)); });
    parts.insert(parts.end(), {resident, &place.closing()});
    for (Pollable* const part : parts) {
      if (part == nullptr) continue;
      auto added = poller.add_owner(*part);
      if (!added) return failure(added.error(), "no room in a poller's list");
    }
    auto& home = poller.commands().completion_doorbell();
    auto watched = loop_->add(home.descriptor(), EPOLLIN, [&poller, &home](std::uint32_t) {
      home.clear();
      poller.commands().drain();
    });
    if (!watched) return watched;
  }
  lnet_host_->set_doorbells(std::move(doorbells));
  return {};
}

// Token memory is on the memory node of the plan, so that hops show the cost of remote memory: one
// region for each node, divided in the order of the shards.
Outcome<std::map<unsigned, std::span<std::byte>>> Node::token_regions() {
  std::map<unsigned, std::size_t> bytes;
  for (const auto& cpt : machine_->cpts().cpts) {
    bytes[cpt.memory_node] += cpt.shards.size() * runtime::kExchangeBytesPerShard;
  }
  std::map<unsigned, std::span<std::byte>> regions;
  for (const auto& [node, size] : bytes) {
    const auto id = token_memory_.add(
        tokens_, {.bytes = size, .numa_node = static_cast<int>(node), .hugepages = false});
    if (!id) return std::unexpected(id.error());
    regions[node] = tokens_.bytes({{*id, 0}, static_cast<std::uint32_t>(size)});
  }
  return regions;
}

Outcome<void> Node::launch() {
  if (auto able = exchange_->validate(exchange_load(settings_)); !able) return able;
  if (auto listening = metrics_http_->set_listen(settings_.metrics.listen); !listening) {
    return listening;
  }
  if (auto listening = status_page_->server().set_listen(settings_.status_page.listen); !listening)
    return listening;
  if (auto started = lnet_->start(*lnet_host_, *loop_, settings_.lnet); !started) return started;
  captures_ = std::make_unique<Captures>(Captures::Parts{.host = *lnet_host_,
                                                         .desk = lnet_->desk(),
                                                         .loop = *loop_,
                                                         .clock = clock_,
                                                         .wall_clock = wall_clock_,
                                                         .log = *log_});
  launched_ = true;
  if (auto running = lnet_->set_running(pollers()); !running) return running;
  for (auto& poller : pollers_) {
    auto launched = machine_->eal().launch(poller->shard(),
                                           [this, &poller = *poller] { poller.run(stopping_); });
    if (!launched) return launched;
  }
  const auto pollers = this->pollers();
  if (auto applied = exchange_->apply(exchange_load(settings_), pollers); !applied) return applied;
  started_at_ = clock_.now();
  return {};
}

}  // namespace plnet::node
