// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/lease.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/kfilnd/wire.hpp"
#include "node/net/kfi/nic.hpp"

namespace plnet::node {
namespace {

// The limit of an endpoint's tables: no NIC has more operations under way.
constexpr unsigned kOperationsMax = 16384;
constexpr unsigned kOfiOperationsMax = 4096;  // each has a packet of 4 KiB
constexpr std::uint64_t kPageBytes = 4096;

cassini::TrafficClass class_of(kfilnd::TrafficClass wanted) {
  switch (kfilnd::on_cassini(wanted)) {
    case kfilnd::TrafficClass::kLowLatency: return cassini::TrafficClass::kLowLatency;
    case kfilnd::TrafficClass::kDedicatedAccess: return cassini::TrafficClass::kDedicated;
    case kfilnd::TrafficClass::kBulkData: return cassini::TrafficClass::kBulkData;
    default: return cassini::TrafficClass::kBestEffort;
  }
}

std::uint64_t bytes_of_each(std::uint64_t all, unsigned contexts) {
  return all / contexts / kPageBytes * kPageBytes;
}

}  // namespace

KfiLease::KfiLease(KfiNic& nic, unsigned seat, const KfiOptions& options, unsigned contexts)
    : options_(options), nic_(nic), seat_(seat), contexts_(contexts), mail_(contexts) {}

KfiLease::~KfiLease() {
  device_.reset();
  nic_.take_back(seat_);
}

Fragment KfiLease::receive_memory() const {
  return nic_.memory().of(seat_);
}

Outcome<cassini::Device*> KfiLease::open_device(const lnet::Nid& nid, const ArenaTable& arenas) {
  if (device_ != nullptr) return device_.get();
  auto device = cassini::Device::open(nic_.backend(),
                                      {.id = nic_.device_id(),
                                       .service = nic_.settings().service,
                                       .vni = static_cast<unsigned>(options_.tunables.auth_key),
                                       .pid = kfilnd::service_of(nid),
                                       .traffic_class = class_of(options_.traffic_class)},
                                      arenas);
  if (!device) return std::unexpected(std::move(device.error()));
  device_ = std::move(*device);
  return device_.get();
}

Outcome<void> KfiContext::open(const lnet::Nid& nid, const ArenaTable& arenas,
                               const KfiLease::Start& start) {
  if (nic().settings().backend != KfiBackend::kOfi) return open_cassini(nid, arenas);
  const KfiOfiRequest request{
      .process = kfilnd::service_of(nid),
      .contexts = lease_->contexts(),
      .context = number_,
      .operations_max = std::min(operations_max(options().tunables), kOfiOperationsMax),
      .seed = start.seed,
      .lnd_timeout = start.lnd_timeout};
  auto opened = open_ofi(nic().settings(), request, arenas, relay_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  ofi_ = std::move(*opened);
  driver_ = &ofi_->driver();
  pollable_ = &ofi_->pollable();
  return {};
}

Outcome<void> KfiContext::open_cassini(const lnet::Nid& nid, const ArenaTable& arenas) {
  auto device = lease_->open_device(nid, arenas);
  if (!device) return std::unexpected(std::move(device.error()));
  const unsigned operations = std::min(operations_max(options().tunables), kOperationsMax);
  const cassini::EndpointConfig config{
      .limits = {.receive_contexts = static_cast<std::uint8_t>(lease_->contexts()),
                 .receive_context = number_,
                 .operations_max = operations},
      .receive_bytes_max = receive_memory().length};
  auto endpoint = cassini::Endpoint::create(**device, config, relay_);
  if (!endpoint) return std::unexpected(std::move(endpoint.error()));
  endpoint_ = std::move(*endpoint);
  driver_ = endpoint_.get();
  pollable_ = endpoint_.get();
  return {};
}

Fragment KfiContext::receive_memory() const {
  const Fragment all = lease_->receive_memory();
  const std::uint64_t each = bytes_of_each(all.length, lease_->contexts());
  return {{all.at.arena, all.at.offset + number_ * each}, static_cast<std::uint32_t>(each)};
}

Outcome<void> check_receive_memory(const KfiNic& nic, const KfiOptions& options,
                                   unsigned contexts) {
  const auto buffers = static_cast<std::uint64_t>(options.tunables.immediate_rx_buf_count);
  const std::uint64_t each = bytes_of_each(nic.memory().bytes_each, contexts) / buffers;
  if (each >= kfilnd::kMessageBytesMax) return {};
  return failure(
      Errc::kNoSpace,
      fmt::format("{} KiB of receive buffers for {} shards come to less than a message in each of "
                  "{} buffers: expected larger `options kkfilnd credits=` or fewer CPTs",
                  nic.memory().bytes_each >> 10U, contexts, buffers));
}

}  // namespace plnet::node
