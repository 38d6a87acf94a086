// SPDX-License-Identifier: BSD-3-Clause
// Resource groups of a NIC, and the VNIs, traffic classes and PIDs that their service lets them
// use (shs-cxi-driver: cass_lni.c, cass_cpt.c, cass_rmu.c).
#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "drivers/net/cassini/soft/first_free.hpp"
#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {

Made<unsigned> Nic::make_group(unsigned service, const Caller& caller) {
  const auto row = services_.open(service, caller);
  if (!row) return no(row.error());
  const unsigned sharing = std::max(services_.at(*row).groups_per_id, 1U);
  const auto resource_group = resource_group_for(*row, sharing);
  const auto end = static_cast<unsigned>(tables_.groups.size());
  const unsigned number =
      first_free(tables_.groups, 0, end, [](const auto& one) { return one == nullptr; });
  if (!resource_group || number == end) {
    services_.close(*row);
    return no(ENOSPC);
  }
  auto made =
      std::make_unique<Group>(*row, tables_.random.fork("group " + std::to_string(++generation_)));
  made->resource_group = *resource_group;
  made->sharing = sharing;
  tables_.groups[number] = std::move(made);
  show_resource_groups();
  return number;
}

void Nic::show_resource_groups() {
  std::vector<bool> used(tables_.limits.resource_groups);
  for (const auto& one : tables_.groups)
    if (one != nullptr) used[one->resource_group] = true;
  const auto number = static_cast<unsigned>(std::ranges::count(used, true));
  const unsigned all = services_.use_resource_groups(number);
  if (host_files_ != nullptr) host_files_->show_resource_groups(all);
}

// One of the same service with room, or an unused one (cass_rgid.c: cass_rgid_get()).
std::optional<unsigned> Nic::resource_group_for(unsigned service_row, unsigned sharing) const {
  std::vector<unsigned> users(tables_.limits.resource_groups);
  for (const auto& one : tables_.groups)
    if (one != nullptr) ++users[one->resource_group];
  for (const auto& one : tables_.groups) {
    if (one != nullptr && one->service_row == service_row && one->sharing == sharing &&
        users[one->resource_group] < sharing)
      return one->resource_group;
  }
  const auto unused = std::ranges::find(users, 0U);
  if (unused == users.end()) return std::nullopt;
  return static_cast<unsigned>(unused - users.begin());
}

Made<void> Nic::drop_group(unsigned group) {
  if (group_of(group) == nullptr) return no(EINVAL);
  if (group_of(group)->objects > 0) return no(EBUSY);
  std::erase_if(tables_.reserved_pids, [this, group](const auto& one) {
    if (one.second != group) return false;
    if (pid_owners_ != nullptr)
      pid_owners_->release(Tables::vni_of(one.first), Tables::pid_of(one.first));
    return true;
  });
  services_.close(group_of(group)->service_row);
  tables_.groups[group].reset();
  show_resource_groups();
  return {};
}

Made<const Service*> Nic::service_for(unsigned group, unsigned vni, const Caller& caller) {
  const Group* const owner = group_of(group);
  if (owner == nullptr) return no(EINVAL);
  return services_.of_vni(vni, caller, owner->service_row);
}

Made<unsigned> Nic::make_profile(unsigned group, unsigned vni, unsigned traffic_class,
                                 const ProfileRequest& request) {
  if (traffic_class >= kTrafficClasses) return no(EINVAL);
  const auto service = service_for(group, vni, request.caller);
  if (!service) return no(service.error());
  const unsigned classes = (*service)->traffic_classes & traffic_classes_;
  if ((classes >> traffic_class & 1U) == 0) return no(EINVAL);
  Group* const owner = group_of(group);
  const auto room =
      std::min<unsigned>(tables_.limits.profiles, static_cast<unsigned>(owner->profiles.size()));
  const unsigned first = request.kind == ProfileKind::kNotTriggered ? 1 : 0;
  const unsigned end = request.kind == ProfileKind::kTriggered ? std::min(room, 1U) : room;
  // One LCID for all that ask for the same, unless each is to have its own.
  const auto same = [&](const ProfileEntry& one) {
    return one.allocated && !one.exclusive && one.vni == vni &&
           one.traffic_class == traffic_class && one.type == request.type;
  };
  unsigned lcid =
      (*service)->exclusive_profiles ? end : first_free(owner->profiles, first, end, same);
  if (lcid == end) {
    lcid = first_free(owner->profiles, first, end, [](const auto& one) { return !one.allocated; });
    if (lcid == end) return no(ENOSPC);
    owner->profiles[lcid] = {.allocated = true,
                             .vni = static_cast<std::uint16_t>(vni),
                             .traffic_class = static_cast<std::uint8_t>(traffic_class),
                             .type = static_cast<std::uint8_t>(request.type),
                             .exclusive = (*service)->exclusive_profiles};
    ++owner->objects;
  }
  ++owner->profiles[lcid].references;
  return lcid;
}

Made<void> Nic::drop_profile(unsigned group, unsigned lcid) {
  Group* const owner = group_of(group);
  if (owner == nullptr || lcid >= owner->profiles.size() || !owner->profiles[lcid].allocated)
    return no(EINVAL);
  ProfileEntry& profile = owner->profiles[lcid];
  if (profile.references == 1) {
    if (profile.queues > 0) return no(EBUSY);
    profile = {};
    --owner->objects;
    return {};
  }
  --profile.references;
  return {};
}

// Any VNI that the caller may use will do (cass_cpt.c: cxi_cp_modify()).
Made<void> Nic::change_profile(unsigned group, unsigned lcid, unsigned vni, const Caller& caller) {
  Group* const owner = group_of(group);
  if (owner == nullptr || lcid >= owner->profiles.size() || !owner->profiles[lcid].exclusive ||
      !services_.has_vni(vni, caller))
    return no(EINVAL);
  owner->profiles[lcid].vni = static_cast<std::uint16_t>(vni);
  for (CommandQueue* const queue : active_) {
    if (queue->setup.transmit && queue->setup.group == group && queue->setup.lcid == lcid)
      queue->vni = static_cast<std::uint16_t>(vni);
  }
  return {};
}

bool Nic::pid_is_free(unsigned group, unsigned vni, unsigned pid) const {
  if (tables_.domain(vni, pid) != nullptr) return false;
  const std::uint32_t key = Tables::domain_key(vni, pid);
  const auto reserved = tables_.reserved_pids.find(key);
  return reserved == tables_.reserved_pids.end() || reserved->second == group;
}

// All of them or none, among the processes that share the NIC.
bool Nic::claim_pids(unsigned vni, unsigned first, unsigned count) {
  if (pid_owners_ == nullptr) return true;
  for (unsigned one = first; one < first + count; ++one) {
    if (pid_owners_->claim(vni, one)) continue;
    while (one-- > first)
      pid_owners_->release(vni, one);
    return false;
  }
  return true;
}

Made<unsigned> Nic::reserve_pids(unsigned group, unsigned vni, unsigned pid, unsigned count,
                                 const Caller& caller) {
  if (group_of(group) == nullptr || !services_.has_vni(vni, caller) || pid > kPidAnyValue ||
      count == 0 || count > kPidAnyValue)
    return no(EINVAL);
  const auto are_free = [&](unsigned first) {
    if (first + count > kPidAnyValue) return false;
    for (unsigned one = first; one < first + count; ++one) {
      const std::uint32_t key = Tables::domain_key(vni, one);
      if (tables_.domains.contains(key) || tables_.reserved_pids.contains(key)) return false;
    }
    return true;
  };
  const auto take = [&](unsigned at) { return are_free(at) && claim_pids(vni, at, count); };
  unsigned first = pid;
  if (pid == kPidAnyValue) {
    first = 0;
    while (first < kPidAnyValue && !take(first))
      ++first;
    if (first == kPidAnyValue) return no(ENOSPC);
  } else if (!take(pid)) {
    return no(EEXIST);
  }
  for (unsigned one = first; one < first + count; ++one)
    tables_.reserved_pids.emplace(Tables::domain_key(vni, one), static_cast<std::uint16_t>(group));
  return first;
}

Made<Nic::DomainId> Nic::make_domain(unsigned group, unsigned vni, unsigned pid,
                                     const Caller& caller) {
  if (pid > kPidAnyValue) return no(EINVAL);
  const auto service = service_for(group, vni, caller);
  if (!service) return no(service.error());
  // A domain receives messages to all VNIs of a range (cxi_rx_profile.c: vni_attr).
  const auto own = static_cast<std::uint16_t>(vni);
  const bool is_of_range = (*service)->vnis.empty() && (*service)->range;
  const VniRange vnis = is_of_range ? *(*service)->range : VniRange{own, own};
  if (pid == kPidAnyValue) {
    const auto is_anybodys = [&](unsigned one) {
      return tables_.domain(vni, one) == nullptr &&
             !tables_.reserved_pids.contains(Tables::domain_key(vni, one));
    };
    pid = 0;
    while (pid < kPidAnyValue && !(is_anybodys(pid) && claim_pids(vni, pid, 1)))
      ++pid;
    if (pid == kPidAnyValue) return no(ENOSPC);
  } else if (!pid_is_free(group, vni, pid) || !claim_pids(vni, pid, 1)) {
    return no(EEXIST);
  }
  const std::uint32_t key = Tables::domain_key(vni, pid);
  auto entry = std::make_unique<DomainEntry>();
  entry->group = static_cast<std::uint16_t>(group);
  entry->vni = own;
  entry->pid = static_cast<std::uint16_t>(pid);
  entry->vnis = vnis;
  tables_.domains.emplace(key, std::move(entry));
  ++group_of(group)->objects;
  portals_.domains_changed();
  return DomainId{key, pid};
}

Made<void> Nic::drop_domain(std::uint32_t key) {
  const auto found = tables_.domains.find(key);
  if (found == tables_.domains.end()) return no(EINVAL);
  if (found->second->maps > 0) return no(EBUSY);
  --group_of(found->second->group)->objects;
  if (pid_owners_ != nullptr) pid_owners_->release(found->second->vni, found->second->pid);
  tables_.domains.erase(found);
  tables_.reserved_pids.erase(key);
  portals_.domains_changed();
  return {};
}

}  // namespace plnet::cassini::soft
