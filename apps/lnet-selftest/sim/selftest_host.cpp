// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/sim/selftest_host.hpp"

#include <algorithm>

#include "apps/lnet-sim/node/home_check.hpp"
#include "apps/lnet-sim/node/peer_limits.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

// Control, bulk in and bulk out, from both sides.
constexpr std::size_t kStreamsPerPeer = 6;
constexpr std::size_t kSparePeers = 2;
constexpr std::size_t kStrangersMax = 64;
constexpr std::size_t kFrameworkRpcs = 4;
constexpr std::size_t kFrameworkBuffers = 4;
constexpr std::size_t kServices = 7;  // of a framework
constexpr std::size_t kJoinRpcs = 64;
constexpr std::size_t kServedAtOnce = 256;
constexpr std::uint64_t kLineBytes = 64;
constexpr std::uint64_t kSlackBytes = 64UL * 1024;
// All simulated clocks show the same time, so incarnations distinguish the RPCs of restarts.
constexpr std::uint64_t kUnixSeconds = 1'700'000'000;
constexpr std::uint64_t kConsoleSeconds = 0x8000;
constexpr Duration kTick = std::chrono::milliseconds(100);

// Pings of new peers at the same time: for a console all nodes are new. Further ones wait.
constexpr std::size_t kExchangesMin = 4;
constexpr std::size_t kExchangesMax = 64;

constexpr std::uint64_t whole_lines(std::uint64_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

SelftestHost::SelftestHost(SelftestWorld& world, std::uint32_t number, const Nid& nid,
                           const SelftestHostLimits& limits)
    : world_(world),
      number_(number),
      nid_(nid),
      limits_(limits),
      id_(world.streams.network().add_host()) {
  (void)world.streams.network().add_address(id_, drivers::mapped_ipv4(nid.address32()));
  lcores_.push_back(std::make_unique<drivers::SimShard>(world.streams.network(), id_, world.lcore,
                                                        world.seed, number));
  lcore_ = lcores_.front().get();
  bells_[0] = lcore_;
  lcore_->add(turn_);
  ping_bytes_ = whole_lines(Coordinator::memory_bytes(coordinator_limits(1, exchanges())));
  own_bytes_ = ping_bytes_ + selftest_bytes() + kSlackBytes;
  // Not initialised: untouched memory costs nothing.
  memory_ = std::make_unique_for_overwrite<std::byte[]>(own_bytes_);
  PLNET_CHECK(arenas_.add(world.source).has_value(), "the first arena");
  PLNET_CHECK(arenas_.add({.base = memory_.get(), .size = own_bytes_}).has_value(), "the second");
}

SelftestHost::~SelftestHost() {
  // No callback is made any more, whatever is under way.
  lcore_->set_running(false);
  console_.reset();
  framework_.reset();
  server_.reset();
  if (state_ != State::kOff && !gone()) {
    (void)node_.release();
    (void)tcp_.release();
  }
}

selftest::FrameworkSetup SelftestHost::framework_setup() const {
  return {.session_timeout_s = limits_.session_timeout_s,
          .rpcs = kFrameworkRpcs,
          .buffers = kFrameworkBuffers,
          .sessions = 3,
          .batches = 8,
          .tests = 16,
          .units = limits_.units,
          .sink_bytes = limits_.sink_bytes};
}

selftest::TestServerSetup SelftestHost::server_setup() const {
  return {.rpcs = std::min(limits_.requests, kServedAtOnce),
          .buffers = limits_.requests,
          .sinks = limits_.sinks};
}

selftest::ConsoleSetup SelftestHost::console_setup() const {
  return {.rpcs = limits_.console_rpcs,
          .unix_seconds = kUnixSeconds + kConsoleSeconds + life_,
          .start = world_.streams.network().now()};
}

std::size_t SelftestHost::exchanges() const {
  return std::clamp(limits_.peers, kExchangesMin, kExchangesMax);
}

std::size_t SelftestHost::descriptors() const {
  if (is_console()) {
    const selftest::ConsoleSetup setup = console_setup();
    return 3 * setup.rpcs + setup.join_buffers + 2 * kJoinRpcs;
  }
  const selftest::FrameworkSetup framework = framework_setup();
  const selftest::TestServerSetup server = server_setup();
  return kServices * framework.buffers + 2 * framework.rpcs + 3 * framework.units +
         2 * server.buffers + 2 * server.rpcs;
}

std::size_t SelftestHost::selftest_bytes() const {
  if (is_console()) return selftest::Console::memory_bytes(console_setup());
  return selftest::Framework::memory_bytes(framework_setup()) +
         selftest::TestServer::memory_bytes(server_setup());
}

void SelftestHost::start() {
  PLNET_CHECK(state_ == State::kOff, "it is off before it is started");
  life_ = world_.next_life++;
  world_.streams.network().set_present(id_, true);
  make_node();
  move_in();
  state_ = State::kUp;
  lcore_->set_running(true);
  begin_turn();
  if (server_) server_->open();
  if (framework_) framework_->open();
  if (console_) console_->open();
  ring();
}

void SelftestHost::make_node() {
  const std::size_t peers = limits_.peers + kSparePeers;
  const std::size_t descriptors = this->descriptors();
  NodeSetup setup;
  setup.shard_limits = {.peer_ports = peers,
                        .extra_links = peers,
                        .lane_sets = peers,
                        .messages = descriptors + 32,
                        .receives = descriptors + 32,
                        .descriptors = descriptors + 32,
                        .match_entries = descriptors + 32,
                        .routes = 1,
                        .talkers = 4};
  setup.coordinator = coordinator_limits(peers, exchanges());
  setup.coordinator.waiting_for_peers =
      setup.shard_limits.messages + setup.shard_limits.receives;  // the highest possible number
  setup.coordinator.route_seed = world_.seed * 65'537 + number_;
  setup.interface_cookie = life_;
  setup.arenas = &arenas_;
  setup.control_memory = {
      .at = {1, 0}, .bytes = arenas_.bytes({{1, 0}, static_cast<std::uint32_t>(ping_bytes_)})};
  setup.doorbells = bells_;
  setup.start = world_.streams.network().now();
  node_ = std::make_unique<Node>(setup);
  node_->parameters().transaction_timeout_s.set(
      static_cast<std::int32_t>(limits_.transaction_timeout_s));
  // In sessions of thousands of nodes each would discover what it knows already.
  node_->parameters().discovery.set(0);
  node_->set_lazy(selftest::kTestPortal, true);
  node_->set_lazy(selftest::kFrameworkPortal, true);
  tcp_ = std::make_unique<TcpStreams>(
      TcpStreams::Parts{.fabric = world_.streams,
                        .host = id_,
                        .lcores = lcores_,
                        .streams_max = peers * kStreamsPerPeer + 16,
                        .faults = {},
                        .random = Random(world_.seed + number_).fork("tcp"),
                        .strangers_max = std::min(peers, kStrangersMax)});
  tcp_->set_node(*node_);
  NiSetup ni{.nid = nid_};
  ni.lnd_timeout = std::chrono::seconds(limits_.lnd_timeout_s);
  PLNET_CHECK(node_->add_ni(ni, *this).has_value(), "it has one");
  tcp_->listen(nid_);
  node_->set_running();
}

std::unique_ptr<Lnd> SelftestHost::make(NiPort& port, ShardId shard) {
  const std::size_t peers = limits_.peers + kSparePeers;
  socklnd::SockLndConfig config{.nid = nid_,
                                .incarnation = port.ni().incarnation,
                                .arenas = &arenas_,
                                .lnet_lnd_timeout = std::chrono::seconds(limits_.lnd_timeout_s),
                                .peers_max = peers,
                                .connections_max = peers * kStreamsPerPeer + 16,
                                .start = world_.streams.network().now()};
  config.tunables.sock_timeout = 0;  // use LNet's
  config.tunables.conns_per_peer = 1;
  return tcp_->make(config, port, shard);
}

void SelftestHost::move_in() {
  const Instant now = world_.streams.network().now();
  selftest::WorkMemory memory{{1, ping_bytes_},
                              {memory_.get() + ping_bytes_, own_bytes_ - ping_bytes_}};
  Shard& shard = node_->shard(0);
  if (is_console()) {
    console_.emplace(shard, console_setup(), memory);
    return;
  }
  server_.emplace(shard, ended_, world_.source_data, served_, server_setup(), memory);
  timers_.emplace(now, kTick);
  ids_.emplace(kUnixSeconds + life_, 0, 1);
  framework_.emplace(selftest::Framework::Surroundings{.operations = shard,
                                                       .timers = *timers_,
                                                       .ids = *ids_,
                                                       .source = world_.source_data,
                                                       .ended = ended_,
                                                       .lnet = *this,
                                                       .statistics = asked_,
                                                       .servers = servers_,
                                                       .latency = &world_.latency,
                                                       .paced = &world_.paced},
                     framework_setup(), memory);
}

selftest::LnetCounters SelftestHost::read() const {
  selftest::LnetCounters sum;
  add_to(sum, node_->shard(0).core().statistics);
  return sum;
}

void SelftestHost::begin_turn() {
  node_->shard(0).begin_turn(world_.streams.network().now());
}

unsigned SelftestHost::poll(Instant now) {
  if (state_ == State::kOff) return 0;
  Shard& shard = node_->shard(0);
  shard.begin_turn(now);
  unsigned work = tcp_->poll(0, now);
  if (server_) work += server_->poll(now);
  if (framework_) work += timers_->advance(now) + framework_->poll(now);
  if (console_) work += console_->poll(now);
  work += shard.poll(now);
  node_->quiescent(0);
  return work + node_->coordinate(now);
}

bool SelftestHost::set_pace(const selftest::Pace& pace) {
  if (!framework_) return false;
  begin_turn();
  const bool set = framework_->set_pace(pace);
  ring();
  return set;
}

Instant SelftestHost::next_deadline() const {
  if (state_ == State::kOff) return Instant::max();
  Instant next = std::min({node_->shard(0).next_deadline(), tcp_->next_deadline(0),
                           node_->next_coordination(world_.streams.network().now())});
  if (server_) next = std::min(next, server_->next_deadline());
  if (framework_) {
    const Instant due = std::min(timers_->next_deadline(), framework_->next_deadline());
    next = std::min(next, framework_->has_work() ? Instant::min() : due);
  }
  return console_ ? std::min(next, console_->next_deadline()) : next;
}

void SelftestHost::kill() {
  world_.streams.network().set_present(id_, false);
  shut_down();
}

void SelftestHost::shut_down() {
  PLNET_CHECK(state_ == State::kUp, "only what runs ends");
  state_ = State::kDying;
  begin_turn();
  if (console_) console_->close();
  if (framework_) framework_->close();
  if (server_) server_->close();
  for (const PortalId portal : {selftest::kTestPortal, selftest::kFrameworkPortal})
    node_->set_lazy(portal, false);
  node_->coordinator().shut_down();
  tcp_->shut_down();
  (void)node_->remove_ni(nid_);
  ring();
}

bool SelftestHost::gone() const {
  if (node_ == nullptr) return true;
  return state_ == State::kDying && (!console_ || console_->closed()) &&
         (!framework_ || framework_->closed()) && (!server_ || server_->closed()) &&
         node_->idle() && tcp_->idle() && node_->releasing_nis() == 0 &&
         node_->coordinator().quiet();
}

std::string SelftestHost::what_is_missing() const {
  if (node_ == nullptr) return {};
  if (framework_ && framework_->zombies() > 0) return "a session that does not go";
  return sim::what_is_missing(*node_);
}

void SelftestHost::destroy() {
  PLNET_CHECK(gone(), "what is under way ends first");
  state_ = State::kOff;
  lcore_->set_running(false);
  console_.reset();
  framework_.reset();
  server_.reset();
  timers_.reset();
  ids_.reset();
  tcp_->close();
  node_.reset();
  tcp_.reset();
}

}  // namespace plnet::sim
