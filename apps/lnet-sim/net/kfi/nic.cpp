// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/kfi/nic.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/kfilnd/keys.hpp"

namespace plnet::sim {

namespace {

namespace soft = cassini::soft;
using drivers::Fault;

constexpr unsigned kOperations = 128;  // of one NIC, at the same time
constexpr std::size_t kReceives = 64;
constexpr std::size_t kHellos = 64;
constexpr unsigned kBulkBlocks = 4;
constexpr std::size_t kReceiveEventBytes = std::size_t{64} << 10U;
// The retry handler's times, tens of seconds, are divided by this: it gives up a packet after 0.8
// s, before an LND does.
constexpr std::uint64_t kFaster = 20;
constexpr std::uint64_t kIdleNs = std::uint64_t{1} << 20U;  // as in hardware, not accelerated
// For each peer: messages, tagged writes, tagged reads.
constexpr std::size_t kConnectionsPerPeer = 3;

bool is_of_packets(const drivers::FaultRule& rule) {
  return rule.fault == Fault::kDrop || rule.fault == Fault::kDuplicate ||
         rule.fault == Fault::kReorder;
}

drivers::FaultPlan part_of(const drivers::FaultPlan& plan, bool of_packets) {
  drivers::FaultPlan part;
  for (const drivers::FaultRule& rule : plan.view()) {
    if (is_of_packets(rule) == of_packets) (void)part.add(rule);
  }
  return part;
}

unsigned connections_of(unsigned wanted, std::size_t peers) {
  return wanted > 0 ? wanted : static_cast<unsigned>(kConnectionsPerPeer * peers + 16);
}

soft::NodeOptions options_of(const KfiNic::Setup& setup, Random random) {
  const KfiPlan& plan = setup.plan;
  soft::NodeOptions options;
  options.nic.address = setup.place.home;
  options.nic.limits = {.transmit_queues = 4,
                        .target_queues = 4,
                        .event_queues = 8,
                        .portals = 8,
                        .counters = 2,
                        .address_contexts = 16,
                        .resource_groups = 4,
                        .list_entries = 1024,
                        .mappings = 16};
  options.port.retry.time_divisor = kFaster;
  options.port.retry.idle_ns = kIdleNs * kFaster;
  options.port.incarnation = setup.life;
  options.port.messages_max = 2 * kOperations;
  options.port.source_connections = connections_of(plan.source_connections, setup.peers_max);
  options.port.target_connections = connections_of(plan.target_connections, setup.peers_max);
  options.port.message_states = plan.message_states;
  options.port.remembered_responses = plan.answers;
  options.port.seed = random.next();
  return options;
}

kfilnd::KfiLndConfig lnd_config_of(const KfiNic::Setup& setup) {
  kfilnd::KfiLndConfig config{.nid = setup.nid,
                              .arenas = &setup.arenas,
                              .lnet_lnd_timeout = setup.lnd_timeout,
                              .receive_memory = setup.receive_memory,
                              .peers_max = setup.peers_max,
                              .receives_max = kReceives,
                              .backlog_max = 1024,
                              .hellos_max = kHellos,
                              .copies_max = setup.plan.copies,
                              .first_session_key = kfilnd::first_session_key_of(setup.life),
                              .start = setup.start};
  config.tunables.kfi_timeout = 0;  // use LNet's
  config.tunables.credits = 64;
  config.tunables.peer_credits = 8;
  config.tunables.immediate_rx_buf_count = setup.plan.receive_buffers;
  return config;
}

void add(NetCounts& counts, std::string_view object, const CounterView& view) {
  for (std::size_t i = 0; i < view.info.size(); ++i) {
    const std::uint64_t value = view.values[i].load(std::memory_order_relaxed);
    if (value > 0) counts[fmt::format("{}.{}", object, view.info[i].name)] += value;
  }
}

}  // namespace

// Notifies its NIC when it is destroyed: the node does that when nothing is under way.
class KfiNic::Lnd final : public kfilnd::KfiLnd {
 public:
  Lnd(KfiNic& nic, lnet::LndUpcalls& core, kfilnd::EndpointDriver& driver)
      : KfiLnd(nic.config_, core, driver), nic_(nic) {}
  ~Lnd() override {
    add(nic_.of_lnd_, "lnd_kfi", counters());
    nic_.lnd_ = nullptr;
  }

 private:
  KfiNic& nic_;
};

KfiNic::KfiNic(KfiFabric& fabric, const Setup& setup)
    : config_(lnd_config_of(setup)),
      wire_(fabric, setup.place, part_of(setup.faults, true)),
      node_(wire_, options_of(setup, setup.place.random)),
      answers_(setup.plan.answers) {
  auto device =
      cassini::Device::open(node_.backend(), {.pid = kfilnd::service_of(setup.nid)}, setup.arenas);
  PLNET_CHECK(device.has_value(), "a NIC of its own has room for one process");
  device_ = std::move(*device);
  PLNET_CHECK(device_->arenas_refused() == 0, "and for its memory");
  cassini::EndpointConfig config;
  config.limits.operations_max = kOperations;
  config.bulk_blocks = kBulkBlocks;
  config.bulk_bytes_max = std::max(setup.bulk_bytes_max, 4096U);
  config.receive_event_bytes = kReceiveEventBytes;
  config.link_period = std::chrono::milliseconds(100);
  config.drain_time = std::chrono::seconds(3);
  kfilnd::EndpointEvents* events = this;
  const drivers::FaultPlan between = part_of(setup.faults, false);
  if (between.count > 0) {
    faults_ = std::make_unique<drivers::FaultEndpointDriver>(
        *this, Random(setup.place.random).fork("endpoint"), nullptr);
    PLNET_CHECK(faults_->set_plan(between).has_value(),
                "the reader of the site has checked the faults");
    events = faults_.get();
  }
  auto endpoint = cassini::Endpoint::create(*device_, config, *events);
  PLNET_CHECK(endpoint.has_value(), "and for its queues");
  endpoint_ = std::move(*endpoint);
  if (faults_) faults_->attach(*endpoint_);
}

KfiNic::~KfiNic() {
  PLNET_CHECK(lnd_ == nullptr, "the LND goes first");
  endpoint_.reset();
  device_.reset();
  PLNET_CHECK(node_.objects() == 0, "all objects of the NIC are destroyed");
}

std::unique_ptr<kfilnd::KfiLnd> KfiNic::make_lnd(lnet::LndUpcalls& core) {
  kfilnd::EndpointDriver& driver =
      faults_ ? static_cast<kfilnd::EndpointDriver&>(*faults_) : *endpoint_;
  auto lnd = std::make_unique<Lnd>(*this, core, driver);
  lnd_ = lnd.get();
  return lnd;
}

void KfiNic::on_completions(std::span<const kfilnd::FabricCompletion> burst) {
  PLNET_CHECK(lnd_ != nullptr, "an LND stays until its endpoint is quiet");
  lnd_->on_completions(burst);
}

void KfiNic::on_link(bool usable, std::uint64_t nic_address) {
  if (lnd_ != nullptr) lnd_->on_link(usable, nic_address);
}

// The endpoint writes its commands first, then the NIC runs.
unsigned KfiNic::poll(Instant now) {
  unsigned work = faults_ ? faults_->poll(now) : 0;
  work += endpoint_->poll(now);
  pushed_ = endpoint_->transmitter().commands().pushed();
  return work + node_.poll(now);
}

Instant KfiNic::next_deadline() const {
  // The NIC gets these commands in the next turn.
  if (endpoint_->transmitter().commands().pushed() != pushed_) return Instant::min();
  Instant next = endpoint_->next_deadline();
  if (faults_) next = std::min(next, faults_->next_deadline());
  const std::uint64_t due = const_cast<soft::Node&>(node_).port().next_due();
  const bool never = due > static_cast<std::uint64_t>(INT64_MAX);
  return never ? next : std::min(next, Instant{Duration{static_cast<std::int64_t>(due)}});
}

void KfiNic::set_storm(bool on) {
  node_.port().set_responses_max(on ? 0 : answers_);
}

void KfiNic::calm() {
  wire_.calm();
  if (faults_) PLNET_CHECK(faults_->set_plan({}).has_value(), "a plan without faults is valid");
  set_storm(false);
}

std::uint64_t KfiNic::faults() const {
  return wire_.faults() + (faults_ ? faults_->judge().applied() : 0);
}

// Messages for another NID arrive because of moved cables.
std::uint64_t KfiNic::protocol_errors() const {
  NetCounts counts = of_lnd_;
  if (lnd_ != nullptr) add(counts, "lnd_kfi", lnd_->counters());
  std::uint64_t sum = 0;
  for (const char* const name :
       {"lnd_kfi.rejected", "lnd_kfi.dropped_short", "lnd_kfi.dropped_magic",
        "lnd_kfi.dropped_version", "lnd_kfi.dropped_truncated", "lnd_kfi.dropped_checksum",
        "lnd_kfi.dropped_no_source", "lnd_kfi.dropped_too_small", "lnd_kfi.dropped_type",
        "lnd_kfi.dropped_hello", "lnd_kfi.dropped_length"}) {
    const auto found = counts.find(std::string_view(name));
    if (found != counts.end()) sum += found->second;
  }
  return sum;
}

void KfiNic::count_into(NetCounts& counts) const {
  for (const auto& [name, count] : of_lnd_)
    counts[name] += count;
  if (lnd_ != nullptr) add(counts, "lnd_kfi", lnd_->counters());
  add(counts, "cassini", endpoint_->counters());
  auto& node = const_cast<soft::Node&>(node_);
  add(counts, "cassini_soft", node.nic().counters());
  add(counts, "cassini_packets", node.port().counters());
  add(counts, "retry_handler", node.port().retry_handler().counters());
  add(counts, "wire", wire_.counters());
}

}  // namespace plnet::sim
