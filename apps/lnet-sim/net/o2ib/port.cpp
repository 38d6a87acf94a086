// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/o2ib/port.hpp"

#include <algorithm>
#include <string>

namespace plnet::sim {

using o2iblnd::Ipv4Endpoint;
using o2iblnd::O2ibCounters;
using o2iblnd::QueuePairId;
using o2iblnd::VerbsDriver;

// Keeps its counts when it is destroyed.
class O2ibPort::Lnd final : public o2iblnd::O2ibLnd {
 public:
  Lnd(O2ibPort& port, lnet::LndUpcalls& core, VerbsDriver& driver)
      : O2ibLnd(port.config_, core, driver), port_(port) {}
  ~Lnd() override {
    for (std::size_t i = 0; i < port_.of_lnd_.size(); ++i)
      port_.of_lnd_[i] += O2ibLnd::count(static_cast<O2ibCounters::Id>(i));
    port_.lnd_ = nullptr;
  }

 private:
  O2ibPort& port_;
};

// Upward order from the driver to the LND: faults, then the port.
O2ibPort::O2ibPort(const Setup& setup, O2ibHomes& homes)
    : interface_(setup.interface),
      shard_(setup.shard),
      config_(setup.lnd),
      homes_(homes),
      watch_(setup.watch) {
  established_.reserve(setup.lnd.connections_max);
  if (setup.faults.count > 0) {
    faults_ = std::make_unique<drivers::FaultVerbsDriver>(*this, setup.random);
    PLNET_CHECK(faults_->set_plan(setup.faults).has_value(),
                "the reader of the site has checked the faults");
  }
  VerbsEvents& events = faults_ ? static_cast<VerbsEvents&>(*faults_) : *this;
  driver_ = std::make_unique<drivers::SimVerbsDriver>(setup.wires.verbs, setup.host,
                                                      *setup.lnd.arenas, events, setup.bell);
  driver_->reserve(setup.lnd.connections_max);
  if (faults_) faults_->attach(*driver_);
}

O2ibPort::~O2ibPort() = default;

std::unique_ptr<lnet::Lnd> O2ibPort::make_lnd(lnet::LndUpcalls& core) {
  VerbsDriver& below = faults_ ? static_cast<VerbsDriver&>(*faults_) : *driver_;
  auto lnd = std::make_unique<Lnd>(*this, core, below);
  lnd_ = lnd.get();
  return lnd;
}

void O2ibPort::listen() {
  PLNET_CHECK(lnd_ != nullptr && lnd_->listen().has_value(), "the host has the address of its NID");
  listens_ = true;
}

void O2ibPort::close() {
  driver_.reset();
}

// Faults first: delayed events are older than those of the device.
unsigned O2ibPort::poll(Instant now) {
  const unsigned work = faults_ ? faults_->poll(now) : 0;
  return work + driver_->poll(now);
}

bool O2ibPort::hear(const o2iblnd::LaneNote& note) {
  if (lnd_ == nullptr) return false;
  lnd_->on_lane_note(note);
  return true;
}

void O2ibPort::turn_down(const o2iblnd::HandedRequest& request) {
  if (driver_) driver_->turn_down(request);
}

Instant O2ibPort::next_deadline() const {
  return faults_ ? faults_->next_deadline() : Instant::max();
}

void O2ibPort::calm() {
  if (faults_) PLNET_CHECK(faults_->set_plan({}).has_value(), "a plan without faults is valid");
}

void O2ibPort::set_device(bool up) {
  driver_->set_device(up, Errc::kNetworkDown);
}

std::uint64_t O2ibPort::faults() const {
  return faults_ ? faults_->judge().applied() : 0;
}

void O2ibPort::count_into(NetCounts& counts) const {
  const auto add = [&counts](std::string_view object, const CounterInfo& info,
                             std::uint64_t value) {
    if (value > 0) counts[std::string(object) + "." + std::string(info.name)] += value;
  };
  for (std::size_t i = 0; i < of_lnd_.size(); ++i)
    add("lnd_o2ib", O2ibCounters::kInfo[i], count(static_cast<O2ibCounters::Id>(i)));
  if (!driver_) return;
  const CounterView verbs = driver_->counters();
  for (std::size_t i = 0; i < verbs.info.size(); ++i)
    add("verbs", verbs.info[i], verbs.value(i));
}

void O2ibPort::on_connect_request(QueuePairId request, const Ipv4Endpoint& from,
                                  const Ipv4Endpoint& to, std::span<const std::byte> data) {
  O2ibPort* const home = listens_ ? homes_.home_of(*this, from) : this;
  if (home == nullptr) return driver_->reject(request, {});
  if (home != this) return driver_->hand_over(request, *home->driver_, data);
  lnd_->on_connect_request(request, from, to, data);
}

void O2ibPort::on_completions(std::span<const o2iblnd::WorkCompletion> burst) {
  PLNET_CHECK(lnd_ != nullptr, "an LND stays until its queue pairs have drained");
  lnd_->on_completions(burst);
}

void O2ibPort::on_established(QueuePairId queue_pair, std::span<const std::byte> accept_data) {
  const auto remote = driver_->remote_of(queue_pair);
  PLNET_CHECK(remote.has_value(), "a queue pair drains after it has come up");
  established_.push_back({queue_pair, remote->address});
  lnd_->on_established(queue_pair, accept_data);
}

void O2ibPort::on_rejected(QueuePairId queue_pair, o2iblnd::RejectKind kind,
                           std::span<const std::byte> data) {
  lnd_->on_rejected(queue_pair, kind, data);
}

// A request that no LND has taken has no LND to notify.
void O2ibPort::on_disconnected(QueuePairId queue_pair, Errc cause) {
  if (lnd_ != nullptr) lnd_->on_disconnected(queue_pair, cause);
}

// The LND ends all messages of the queue pair here at the latest, so each completion of a message
// is at most as late as this notice.
void O2ibPort::on_drained(QueuePairId queue_pair) {
  if (lnd_ != nullptr) lnd_->on_drained(queue_pair);
  const auto found = std::ranges::find(established_, queue_pair, &Established::queue_pair);
  if (found == established_.end()) return;
  const std::uint32_t remote = found->remote;
  *found = established_.back();
  established_.pop_back();
  const std::uint16_t net = lnet::number_of_net(nid().net());
  watch_.on_connection_over(lnet::Nid::of(lnet::NetType::kO2ib, net, remote));
}

void O2ibPort::on_device(bool usable, Errc cause) {
  if (lnd_ != nullptr) lnd_->on_device(usable, cause);
}

}  // namespace plnet::sim
