// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/kfi_nic.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

using cassini::soft::NodeOnEthdev;
using runtime::KfiBackend;

std::string port_name(const std::string& device) {
  return device.substr(0, device.find(','));
}

std::unexpected<Error> at(const runtime::KfiInterface& interface, Error error) {
  const std::string& place = interface.origin.place;
  return failure(error.code, fmt::format("{}{}kfi interface {}: {}", place,
                                         place.empty() ? "" : ": ", interface.name, error.what));
}

}  // namespace

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
  PLNET_CHECK(!taken_.load(std::memory_order_acquire) || returned_.load(std::memory_order_acquire),
              "NIs go before their NICs");
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
  auto soft = NodeOnEthdev::open(options, &retry_lines_);
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
  if (soft_ != nullptr) return soft_address_.load(std::memory_order_relaxed);
  if (settings_.backend == KfiBackend::kOfi) return ofi_address(settings_);
  const auto device = find_device();
  if (!device) return at(settings_, device.error());
  return device->nic_address;
}

std::optional<std::uint32_t> KfiNic::settled_address() {
  if (settings_.backend != KfiBackend::kLibcxi) {
    const auto address = this->address();
    return address ? std::optional(*address) : std::nullopt;
  }
  const auto device = find_device();
  return device && device->link_up ? std::optional(device->nic_address) : std::nullopt;
}

Outcome<void> KfiNic::set_address(std::uint32_t address, Instant now) {
  if (soft_ == nullptr) {
    return failure(Errc::kNotSupported,
                   fmt::format("interface {}: only a NIC in software takes an address", name()));
  }
  constexpr std::uint32_t kAddressMost = cassini::kNicAddressMax - 1;
  if (address > kAddressMost) {
    return failure(Errc::kInvalid,
                   fmt::format("address {}: expected at most {}", address, kAddressMost));
  }
  if (!is_free()) {
    next_address_.store(address, std::memory_order_relaxed);
    return {};
  }
  move_to(address);  // nobody else looks at it
  (void)soft_->poll(now);
  return {};
}

void KfiNic::move_to(std::uint32_t address) {
  soft_->wire().set_address(static_cast<cassini::soft::NicAddress>(address));
  soft_address_.store(address, std::memory_order_relaxed);
}

Outcome<void> KfiNic::prepare(const lnet::Nid& nid, const KfiOptions& options,
                              const ArenaTable& arenas, const KfiLease::Start& start,
                              const KfiPlace& keeper) {
  if (taken_.load(std::memory_order_acquire)) {
    return failure(leaving_.load(std::memory_order_relaxed) ? Errc::kAgain : Errc::kBusy,
                   fmt::format("interface {} serves another NI, expected one at a time", name()));
  }
  if (auto fits = check_receive_memory(*this, options, start.contexts); !fits)
    return at(settings_, fits.error());
  taken_.store(true, std::memory_order_relaxed);
  if (auto opened = open_contexts(nid, options, arenas, start); !opened) {
    prepared_.clear();
    set_free();
    return at(settings_, std::move(opened.error()));
  }
  keeper_.store(&keeper, std::memory_order_release);
  return {};
}

Outcome<void> KfiNic::open_contexts(const lnet::Nid& nid, const KfiOptions& options,
                                    const ArenaTable& arenas, const KfiLease::Start& start) {
  const auto lease = std::make_shared<KfiLease>(*this, options, start.contexts);
  prepared_.clear();
  for (unsigned i = 0; i < start.contexts; ++i) {
    prepared_.push_back(std::make_unique<KfiContext>(lease, i));
    if (auto opened = prepared_.back()->open(nid, arenas, start); !opened) return opened;
  }
  return {};
}

std::unique_ptr<KfiContext> KfiNic::take(unsigned context) {
  PLNET_CHECK(context < prepared_.size() && prepared_[context] != nullptr,
              "an NI is prepared before its shards make it");
  return std::move(prepared_[context]);
}

unsigned KfiNic::keep(Instant now) {
  if (next_address_.load(std::memory_order_relaxed) != kStays)
    move_to(next_address_.exchange(kStays, std::memory_order_relaxed));
  const unsigned work = soft_ == nullptr ? 0 : soft_->poll(now);
  if (returned_.load(std::memory_order_acquire)) set_free();
  return work;
}

// Nobody has it; whoever takes it next sees all that was done with it.
void KfiNic::set_free() {
  returned_.store(false, std::memory_order_relaxed);
  leaving_.store(false, std::memory_order_relaxed);
  keeper_.store(nullptr, std::memory_order_relaxed);
  taken_.store(false, std::memory_order_release);
}

}  // namespace plnet::apps
