// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/kfi_nic.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

using cassini::soft::NodeOnEthdev;
using runtime::KfiBackend;

// Beyond this an endpoint's tables are larger than what any NIC has under way.
constexpr unsigned kOperationsMax = 16384;
constexpr unsigned kOfiOperationsMax = 4096;  // each has a packet of 4 KiB

cassini::TrafficClass class_of(kfilnd::TrafficClass wanted) {
  switch (kfilnd::on_cassini(wanted)) {
    case kfilnd::TrafficClass::kLowLatency: return cassini::TrafficClass::kLowLatency;
    case kfilnd::TrafficClass::kDedicatedAccess: return cassini::TrafficClass::kDedicated;
    case kfilnd::TrafficClass::kBulkData: return cassini::TrafficClass::kBulkData;
    default: return cassini::TrafficClass::kBestEffort;
  }
}

std::string port_name(const std::string& device) {
  return device.substr(0, device.find(','));
}

std::unexpected<Error> at(const runtime::KfiInterface& interface, Error error) {
  const std::string& place = interface.origin.place;
  return failure(error.code, fmt::format("{}{}kfi interface {}: {}", place,
                                         place.empty() ? "" : ": ", interface.name, error.what));
}

}  // namespace

KfiLease::~KfiLease() {
  // The NIC lets go of the endpoint's memory before anybody else may have it.
  endpoint_.reset();
  device_.reset();
  ofi_.reset();
  nic_.leaving_.store(false, std::memory_order_relaxed);
  nic_.taken_.store(false, std::memory_order_release);
}

Outcome<void> KfiLease::open(const lnet::Nid& nid, const ArenaTable& arenas, const Start& start) {
  if (nic_.settings().backend != KfiBackend::kOfi) return open_cassini(nid, arenas);
  const KfiOfiRequest request{
      .process = kfilnd::service_of(nid),
      .operations_max = std::min(operations_max(options_.tunables), kOfiOperationsMax),
      .seed = start.seed,
      .lnd_timeout = start.lnd_timeout};
  auto opened = open_ofi(nic_.settings(), request, arenas, relay_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  ofi_ = std::move(*opened);
  driver_ = &ofi_->driver();
  pollable_ = &ofi_->pollable();
  return {};
}

Outcome<void> KfiLease::open_cassini(const lnet::Nid& nid, const ArenaTable& arenas) {
  auto device = cassini::Device::open(nic_.backend(),
                                      {.id = nic_.device_id(),
                                       .service = nic_.settings().service,
                                       .vni = static_cast<unsigned>(options_.tunables.auth_key),
                                       .pid = kfilnd::service_of(nid),
                                       .traffic_class = class_of(options_.traffic_class)},
                                      arenas);
  if (!device) return std::unexpected(std::move(device.error()));
  device_ = std::move(*device);
  const unsigned operations = std::min(operations_max(options_.tunables), kOperationsMax);
  auto endpoint = cassini::Endpoint::create(
      *device_,
      {.limits = {.operations_max = operations}, .receive_bytes_max = nic_.receive_memory().length},
      relay_);
  if (!endpoint) return std::unexpected(std::move(endpoint.error()));
  endpoint_ = std::move(*endpoint);
  driver_ = endpoint_.get();
  pollable_ = endpoint_.get();
  return {};
}

Outcome<std::unique_ptr<KfiNic>> KfiNic::open(const runtime::KfiInterface& settings,
                                              const Fragment& receive_memory,
                                              cassini::Backend* vendor, runtime::Eal& eal) {
  std::unique_ptr<KfiNic> nic(new KfiNic(settings, receive_memory));
  if (settings.backend == KfiBackend::kSoft) {
    if (auto opened = nic->open_port(eal); !opened) return at(settings, opened.error());
    return nic;
  }
  if (settings.backend == KfiBackend::kOfi) {
    if (auto there = try_ofi(settings); !there) return at(settings, there.error());
    return nic;
  }
  PLNET_CHECK(vendor != nullptr, "the library was loaded before");
  nic->backend_ = vendor;
  auto device = nic->find_device();
  if (!device) return at(settings, device.error());
  nic->device_id_ = device->id;
  return nic;
}

KfiNic::~KfiNic() {
  unprepare();
  PLNET_CHECK(!taken_.load(std::memory_order_acquire), "NIs go before their NICs");
}

Outcome<void> KfiNic::open_port(runtime::Eal& eal) {
  // A device of the bus was named to the EAL when it started.
  if (!runtime::is_bus_device(settings_.port)) {
    if (auto attached = eal.attach(settings_.port); !attached) return attached;
  }
  cassini::soft::NodeOnEthdevOptions options;
  options.wire.port = port_name(settings_.port);
  options.wire.mtu = settings_.mtu;
  if (settings_.address >= 0)
    options.wire.address = static_cast<cassini::soft::NicAddress>(settings_.address);
  auto soft = NodeOnEthdev::open(options);
  if (!soft) return std::unexpected(std::move(soft.error()));
  soft_ = std::move(*soft);
  soft_address_ = soft_->wire().status().address;
  backend_ = &soft_->backend();
  return {};
}

Outcome<cassini::DeviceInfo> KfiNic::find_device() {
  auto devices = backend_->devices();
  if (!devices) return cassini::backend_failure("get_device_list", devices.error());
  std::string known;
  for (cassini::DeviceInfo& device : *devices) {
    if (device.name == settings_.name) return std::move(device);
    known += (known.empty() ? "" : ", ") + device.name;
  }
  return failure(Errc::kNotFound, fmt::format("libcxi has no such device, expected {}",
                                              known.empty() ? "one, and there is none" : known));
}

Outcome<std::uint32_t> KfiNic::address() {
  if (soft_ != nullptr) return soft_address_;
  if (settings_.backend == KfiBackend::kOfi) return ofi_address(settings_);
  const auto device = find_device();
  if (!device) return at(settings_, device.error());
  return device->nic_address;
}

Outcome<void> KfiNic::prepare(const lnet::Nid& nid, const KfiOptions& options,
                              const ArenaTable& arenas, const KfiLease::Start& start) {
  if (taken_.load(std::memory_order_acquire)) {
    return failure(leaving_.load(std::memory_order_relaxed) ? Errc::kAgain : Errc::kBusy,
                   fmt::format("interface {} serves another NI, expected one at a time", name()));
  }
  taken_.store(true, std::memory_order_relaxed);
  auto lease = std::make_unique<KfiLease>(*this, options);
  if (auto opened = lease->open(nid, arenas, start); !opened) return at(settings_, opened.error());
  prepared_.store(lease.release(), std::memory_order_release);
  return {};
}

std::unique_ptr<KfiLease> KfiNic::take() {
  std::unique_ptr<KfiLease> lease(prepared_.exchange(nullptr, std::memory_order_acquire));
  PLNET_CHECK(lease != nullptr, "an NI is prepared before its shard makes it");
  return lease;
}

}  // namespace plnet::apps
