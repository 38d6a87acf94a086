// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/device.hpp"

#include <system_error>

namespace plnet::cassini {

std::unexpected<Error> backend_failure(const char* call, Errno errno_value) {
  return failure(errc_of_errno(errno_value.value),
                 std::string(call) + ": " +
                     std::error_code(errno_value.value, std::generic_category()).message() +
                     " (errno " + std::to_string(errno_value.value) + ")");
}

Outcome<std::unique_ptr<Device>> Device::open(Backend& backend, const DeviceConfig& config,
                                              const ArenaTable& arenas) {
  if (config.pid > kPidAny)
    return failure(Errc::kInvalid, "a network number on Slingshot is 0 to 510, this is " +
                                       std::to_string(config.pid));
  std::unique_ptr<Device> device(new Device(backend, config, arenas));
  if (auto done = device->set_up(); !done) return std::unexpected(std::move(done.error()));
  device->map_arenas();
  return device;
}

Outcome<void> Device::set_up() {
  const auto opened = backend_.open_device(config_.id);
  if (!opened) return backend_failure("open_device", opened.error());
  handle_ = *opened;
  made_ = 1;
  auto info = backend_.device_info(handle_);
  if (!info) return backend_failure("device_info", info.error());
  info_ = std::move(*info);
  if (info_.pid_granule < 2 * kContextsMax || info_.pid_bits < 6 || info_.pid_bits > 12)
    return failure(Errc::kNotSupported,
                   info_.name + ": kfilnd needs 256 portal indices per PID, this NIC has " +
                       std::to_string(info_.pid_granule));
  const auto lni = backend_.alloc_lni(handle_, config_.service);
  if (!lni) return backend_failure("alloc_lni", lni.error());
  lni_ = *lni;
  made_ = 2;
  const auto profile = backend_.alloc_profile(lni_, config_.vni, config_.traffic_class);
  if (!profile) return backend_failure("alloc_cp", profile.error());
  profile_ = *profile;
  made_ = 3;
  const auto domain = backend_.alloc_domain(lni_, config_.vni, config_.pid);
  if (!domain) return backend_failure("alloc_domain", domain.error());
  domain_ = *domain;
  made_ = 4;
  return {};
}

void Device::map_arenas() {
  for (std::size_t i = 0; i < arenas_.count(); ++i) {
    const Arena& arena = arenas_.arena(static_cast<ArenaId>(i));
    const auto mapping = backend_.map(lni_, arena.base, arena.size, kMapPin | kMapRead | kMapWrite);
    if (!mapping) {
      ++arenas_refused_;
      continue;
    }
    mappings_.push_back(mapping->handle);
    // The mapping may begin before the arena, at a page boundary: addresses count from the arena.
    Mapping of_arena = *mapping;
    of_arena.iova += reinterpret_cast<std::uintptr_t>(arena.base) - mapping->va;
    map_.set(static_cast<ArenaId>(i), of_arena);
  }
}

DeviceInfo Device::seen() const {
  DeviceInfo info = info_;
  const auto now = link();
  info.link_up = now && now->up;
  if (now) info.nic_address = now->nic_address;
  return info;
}

// In reverse order. Errors of the backend are ignored at this point.
Device::~Device() {
  for (std::size_t i = mappings_.size(); i-- > 0;)
    (void)backend_.unmap(mappings_[i]);
  if (made_ >= 4) (void)backend_.destroy_domain(domain_.handle);
  if (made_ >= 3) (void)backend_.destroy_profile(profile_.handle);
  if (made_ >= 2) (void)backend_.destroy_lni(lni_);
  if (made_ >= 1) backend_.close_device(handle_);
}

}  // namespace plnet::cassini
