// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/device.hpp"

#include <utility>

namespace plnet::sim {

namespace {

// Between an LND and its driver, if anything shall go wrong there.
template <class Faults, class Events>
[[nodiscard]] std::unique_ptr<Faults> faults_for(Events& lnd, const Device::Place& place) {
  if (place.faults.count == 0) return nullptr;
  auto faults = std::make_unique<Faults>(lnd, place.random);
  PLNET_CHECK(faults->set_plan(place.faults).has_value(), "the site's reader asks the seam");
  return faults;
}

}  // namespace

std::unique_ptr<StreamLnd> Device::make_stream(const StreamLndConfig& config,
                                               drivers::SimStreamFabric& fabric,
                                               const Place& place) {
  auto lnd = std::make_unique<StreamLnd>(config, *tap_);
  shard_ = place.shard;
  stream_ = lnd.get();
  stream_faults_ = faults_for<drivers::FaultStreamDriver>(*lnd, place);
  socklnd::StreamEvents& events =
      stream_faults_ ? static_cast<socklnd::StreamEvents&>(*stream_faults_) : *lnd;
  stream_driver_ =
      std::make_unique<drivers::SimStreamDriver>(fabric, place.host, events, place.lcore);
  stream_driver_->reserve(config.peers_max + config.incoming_max);
  if (stream_faults_) stream_faults_->attach(*stream_driver_);
  lnd->attach(stream_faults_ ? static_cast<socklnd::StreamDriver&>(*stream_faults_)
                             : *stream_driver_);
  return lnd;
}

std::unique_ptr<RdmaLnd> Device::make_rdma(const RdmaLndConfig& config,
                                           drivers::SimVerbsFabric& fabric, const Place& place) {
  auto lnd = std::make_unique<RdmaLnd>(config, *tap_);
  shard_ = place.shard;
  rdma_ = lnd.get();
  verbs_faults_ = faults_for<drivers::FaultVerbsDriver>(*lnd, place);
  o2iblnd::VerbsEvents& events =
      verbs_faults_ ? static_cast<o2iblnd::VerbsEvents&>(*verbs_faults_) : *lnd;
  verbs_driver_ = std::make_unique<drivers::SimVerbsDriver>(fabric, place.host, *config.arenas,
                                                            events, place.lcore);
  verbs_driver_->reserve(config.pairs_max);
  if (verbs_faults_) verbs_faults_->attach(*verbs_driver_);
  lnd->attach(verbs_faults_ ? static_cast<o2iblnd::VerbsDriver&>(*verbs_faults_) : *verbs_driver_);
  return lnd;
}

std::unique_ptr<socklnd::SockLnd> Device::make_tcp(const socklnd::SockLndConfig& config,
                                                   TcpStreams& streams, lnet::ShardId shard) {
  shard_ = shard;
  auto lnd = streams.make(config, *tap_, shard);
  tcp_ = lnd.get();
  return lnd;
}

std::unique_ptr<kfilnd::KfiLnd> Device::make_kfi(KfiFabric& fabric, const KfiNic::Setup& setup,
                                                 lnet::ShardId shard) {
  shard_ = shard;
  kfi_ = std::make_unique<KfiNic>(fabric, setup);
  fabric_ = &fabric;
  home_ = setup.place.home;
  return kfi_->make_lnd(*tap_);
}

// Faults first: what they held back is older than what the device has.
unsigned Device::poll(Instant now) {
  unsigned work = 0;
  if (stream_faults_) work += stream_faults_->poll(now);
  if (verbs_faults_) work += verbs_faults_->poll(now);
  if (stream_driver_) work += stream_driver_->poll(now);
  if (verbs_driver_) work += verbs_driver_->poll(now);
  if (kfi_) work += kfi_->poll(now);
  return work;
}

Instant Device::next_deadline() const {
  if (kfi_) return kfi_->next_deadline();
  if (stream_faults_) return stream_faults_->next_deadline();
  return verbs_faults_ ? verbs_faults_->next_deadline() : Instant::max();
}

void Device::calm() {
  if (stream_faults_) PLNET_CHECK(stream_faults_->set_plan({}).has_value(), "nothing is allowed");
  if (verbs_faults_) PLNET_CHECK(verbs_faults_->set_plan({}).has_value(), "nothing is allowed");
  if (kfi_) kfi_->calm();
}

void Device::set_link(bool up) {
  if (tcp_ != nullptr) return tcp_->set_usable(up);
  if (verbs_driver_) return verbs_driver_->set_device(up, Errc::kNetworkDown);
  if (fabric_ != nullptr) return fabric_->set_link(home_, up);
  tap_->on_interface(up ? lnet::InterfaceState::kUp : lnet::InterfaceState::kFatal,
                     Errc::kNetworkDown);
}

// A NIC of kfi stays until it is taken away with the LND's node: it answers peers until then.
void Device::close() {
  stream_driver_.reset();
  verbs_driver_.reset();
}

std::uint64_t Device::connections_lost() const {
  if (stream_ != nullptr) return stream_->count(StreamLndCounters::Id::kLost);
  return rdma_ != nullptr ? rdma_->count(RdmaLndCounters::Id::kLost) : 0;
}

std::uint64_t Device::protocol_errors() const {
  if (stream_ != nullptr) return stream_->count(StreamLndCounters::Id::kProtocolErrors);
  if (rdma_ != nullptr) return rdma_->count(RdmaLndCounters::Id::kProtocolErrors);
  if (kfi_) return kfi_->protocol_errors();
  using Id = socklnd::SockLndCounters::Id;
  std::uint64_t sum = 0;
  for (const Id id : {Id::kAttemptVersion, Id::kAttemptIdentity, Id::kAttemptType,
                      Id::kAttemptGarbage, Id::kClosedFrame, Id::kClosedCookies, Id::kClosedNoopSum,
                      Id::kClosedSum, Id::kClosedRejected}) {
    sum += tcp_ != nullptr ? tcp_->count(id) : 0;
  }
  return sum;
}

std::uint64_t Device::faults() const {
  if (kfi_) return kfi_->faults();
  if (stream_faults_) return stream_faults_->judge().applied();
  return verbs_faults_ ? verbs_faults_->judge().applied() : 0;
}

}  // namespace plnet::sim
