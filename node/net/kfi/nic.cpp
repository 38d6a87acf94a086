// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/nic.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using cassini::soft::NodeOnEthdev;

std::string port_name(const std::string& device) {
  return device.substr(0, device.find(','));
}

std::unexpected<Error> at(const KfiInterface& interface, Error error) {
  const std::string& place = interface.origin.place;
  return failure(error.code, fmt::format("{}{}kfi interface {}: {}", place,
                                         place.empty() ? "" : ": ", interface.name, error.what));
}

}  // namespace

Outcome<std::unique_ptr<KfiNic>> KfiNic::open(const KfiInterface& settings, const KfiMemory& memory,
                                              cassini::Backend* vendor, runtime::Eal& eal) {
  std::unique_ptr<KfiNic> nic(new KfiNic(settings, memory));
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

KfiNic::KfiNic(const KfiInterface& settings, const KfiMemory& memory)
    : settings_(settings), memory_(memory) {
  for (unsigned i = 0; i < memory.nis; ++i)
    seats_.push_back(std::make_unique<Seat>());
}

KfiNic::~KfiNic() {
  for (const auto& seat : seats_)
    seat->prepared.clear();
  PLNET_CHECK(users_.load(std::memory_order_acquire) <= kKeeperOnly,
              "NIs are destroyed before their NICs");
}

Outcome<void> KfiNic::open_port(runtime::Eal& eal) {
  // The EAL has probed devices on a bus at its start.
  if (!runtime::is_bus_device(settings_.port)) {
    if (auto attached = eal.attach(settings_.port); !attached) return attached;
  }
  cassini::soft::NodeOnEthdevOptions options;
  options.node = with_room(options.node, memory_.nis);
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
  if (users_.load(std::memory_order_acquire) != kFree) {
    next_address_.store(address, std::memory_order_relaxed);
    return {};
  }
  move_to(address);  // no other thread uses the NIC
  (void)soft_->poll(now);
  return {};
}

void KfiNic::move_to(std::uint32_t address) {
  soft_->wire().set_address(static_cast<cassini::soft::NicAddress>(address));
  soft_address_.store(address, std::memory_order_relaxed);
}

KfiNic::Seat* KfiNic::seat_of(unsigned process) const {
  const auto found = std::ranges::find_if(seats_, [process](const auto& seat) {
    return seat->process.load(std::memory_order_acquire) == process;
  });
  return found == seats_.end() ? nullptr : found->get();
}

Outcome<unsigned> KfiNic::find_seat(unsigned process) const {
  std::optional<unsigned> free;
  bool some_leave = false;
  for (unsigned i = 0; i < seats_.size(); ++i) {
    const Seat& seat = *seats_[i];
    const unsigned there = seat.process.load(std::memory_order_acquire);
    const bool leaves = seat.leaving.load(std::memory_order_relaxed);
    if (there == process) {
      return failure(leaves ? Errc::kAgain : Errc::kBusy,
                     fmt::format("interface {}: another NI is process {}", name(), process));
    }
    if (there == kNobody && !free) free = i;
    some_leave = some_leave || (there != kNobody && leaves);
  }
  if (free) return *free;
  return failure(some_leave ? Errc::kAgain : Errc::kBusy,
                 fmt::format("interface {} has room for {} NIs", name(), seats_.size()));
}

bool KfiNic::join() {
  unsigned users = users_.load(std::memory_order_acquire);
  if (users == kFree) {
    users_.store(kKeeperOnly + 1, std::memory_order_relaxed);
    return true;
  }
  while (users != kKeeperOnly) {
    if (users_.compare_exchange_weak(users, users + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

Outcome<void> KfiNic::prepare(const lnet::Nid& nid, const KfiOptions& options,
                              const ArenaTable& arenas, const KfiLease::Start& start,
                              const KfiPlace& keeper) {
  const unsigned process = kfilnd::service_of(nid);
  const auto seat = find_seat(process);
  if (!seat) return std::unexpected(seat.error());
  if (auto fits = check_receive_memory(*this, options, start.contexts); !fits)
    return at(settings_, fits.error());
  if (!join())
    return failure(Errc::kAgain, fmt::format("interface {}: an NI is still being removed", name()));
  seats_[*seat]->leaving.store(false, std::memory_order_relaxed);
  seats_[*seat]->process.store(process, std::memory_order_relaxed);
  const bool is_kept = keeper_.load(std::memory_order_relaxed) != nullptr;
  if (auto opened = open_contexts(*seat, nid, options, arenas, start); !opened) {
    seats_[*seat]->prepared.clear();
    if (!is_kept) users_.store(kFree, std::memory_order_relaxed);
    return at(settings_, std::move(opened.error()));
  }
  if (!is_kept) keeper_.store(&keeper, std::memory_order_release);
  return {};
}

Outcome<void> KfiNic::open_contexts(unsigned seat, const lnet::Nid& nid, const KfiOptions& options,
                                    const ArenaTable& arenas, const KfiLease::Start& start) {
  const auto lease = std::make_shared<KfiLease>(*this, seat, options, start.contexts);
  auto& prepared = seats_[seat]->prepared;
  prepared.clear();
  for (unsigned i = 0; i < start.contexts; ++i) {
    prepared.push_back(std::make_unique<KfiContext>(lease, i));
    if (auto opened = prepared.back()->open(nid, arenas, start); !opened) return opened;
  }
  return {};
}

void KfiNic::unprepare(const lnet::Nid& nid) {
  Seat* const seat = seat_of(kfilnd::service_of(nid));
  if (seat == nullptr) return;
  // The seat is free when the shards and the keeper have released their parts.
  seat->leaving.store(true, std::memory_order_relaxed);
  seat->prepared.clear();
}

void KfiNic::set_leaving(const lnet::Nid& nid) {
  Seat* const seat = seat_of(kfilnd::service_of(nid));
  if (seat != nullptr) seat->leaving.store(true, std::memory_order_relaxed);
}

std::unique_ptr<KfiContext> KfiNic::take(const lnet::Nid& nid, unsigned context) {
  Seat* const seat = seat_of(kfilnd::service_of(nid));
  PLNET_CHECK(
      seat != nullptr && context < seat->prepared.size() && seat->prepared[context] != nullptr,
      "an NI is prepared before its shards make it");
  return std::move(seat->prepared[context]);
}

// The release order lets the next user of the seat see all writes of this one.
void KfiNic::take_back(unsigned seat) {
  seats_[seat]->leaving.store(false, std::memory_order_relaxed);
  seats_[seat]->process.store(kNobody, std::memory_order_release);
  users_.fetch_sub(1, std::memory_order_release);
}

unsigned KfiNic::keep(Instant now) {
  if (next_address_.load(std::memory_order_relaxed) != kStays)
    move_to(next_address_.exchange(kStays, std::memory_order_relaxed));
  const unsigned work = soft_ == nullptr ? 0 : soft_->poll(now);
  if (users_.load(std::memory_order_acquire) == kKeeperOnly) {
    keeper_.store(nullptr, std::memory_order_relaxed);
    users_.store(kFree, std::memory_order_release);
  }
  return work;
}

}  // namespace plnet::node
