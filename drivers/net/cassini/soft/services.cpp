// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/services.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kVniMax = 0xffff;

bool meet(const VniRange& a, const VniRange& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool has_service(unsigned id) {
  return id != 0;
}

constexpr unsigned kSuperuser = 0;

}  // namespace

bool Service::has_vni(unsigned vni) const {
  if (vni == 0 || vni > kVniMax) return false;
  if (!vnis.empty()) return std::ranges::find(vnis, vni) != vnis.end();
  if (range) return range->has(vni);
  return any_vni;
}

// The superuser is a stranger, too, unless the service lists it.
bool Service::admits(const Caller& caller) const {
  if (network) return caller.network == *network;
  if (!restricts_members) return true;
  return std::ranges::any_of(members, [&caller](const Member& one) {
    return (one.kind == Member::Kind::kUser && one.id == caller.user) ||
           (one.kind == Member::Kind::kGroup && one.id == caller.group);
  });
}

Services::Services(const Limits& limits, Resources& resources, std::span<const Service> first)
    : limits_(limits), resources_(resources) {
  for (const Service& service : first) {
    PLNET_CHECK(has_service(service.id), "a service has a number");
    rows_.push_back({service, 0});
  }
}

void Services::share(Sharing* with) {
  sharing_ = with;
  resources_.share(with);
  const Turn turn(*this);
  if (turn) load();
}

void Services::refresh() {
  if (sharing_ == nullptr || sharing_->version() == version_) return;
  const Turn turn(*this);
}

Services::Turn::Turn(Services& services)
    : services_(services), is_ours_(services.sharing_ == nullptr || services.sharing_->lock()) {
  const bool is_shared = services.sharing_ != nullptr;
  if (is_shared && is_ours_ && services.sharing_->version() != services.version_) services.load();
}

Services::Turn::~Turn() {
  if (services_.sharing_ != nullptr && is_ours_) services_.sharing_->unlock();
}

void Services::load() {
  std::vector<Service> all = sharing_->load();
  if (rows_.size() < all.size()) rows_.resize(all.size());
  all.resize(rows_.size(), Service{.vnis = {}});
  for (unsigned row = 0; row < rows_.size(); ++row) {
    rows_[row].service = std::move(all[row]);
    resources_.set(row, rows_[row].service.shares);
  }
  version_ = sharing_->version();
}

void Services::publish(unsigned row) {
  if (sharing_ == nullptr) return;
  sharing_->store(row, rows_[row].service);
  version_ = sharing_->version();
}

void Services::tell_users(unsigned row) {
  if (sharing_ != nullptr) sharing_->tell(row, Sharing::kGroups, rows_[row].users);
}

unsigned Services::use_resource_groups(unsigned number) {
  if (sharing_ == nullptr) return number;
  sharing_->tell(0, Sharing::kResourceGroups, number);
  (void)sharing_->forget_ended();
  return number + sharing_->others(0, Sharing::kResourceGroups);
}

std::optional<unsigned> Services::row_of(unsigned id) {
  refresh();
  if (sharing_ != nullptr) (void)sharing_->forget_ended();
  return find(id);
}

std::optional<unsigned> Services::find(unsigned id) const {
  if (!has_service(id)) return std::nullopt;
  const auto found =
      std::ranges::find_if(rows_, [id](const Row& row) { return row.service.id == id; });
  if (found == rows_.end()) return std::nullopt;
  return static_cast<unsigned>(found - rows_.begin());
}

std::vector<unsigned> Services::rows() {
  refresh();
  if (sharing_ != nullptr) (void)sharing_->forget_ended();
  std::vector<unsigned> all;
  for (unsigned row = 0; row < rows_.size(); ++row)
    if (has_service(rows_[row].service.id)) all.push_back(row);
  return all;
}

int Services::check(const Service& wanted) const {
  if (wanted.vnis.size() > limits_.service_vnis) return EINVAL;
  if (std::ranges::find(wanted.vnis, 0) != wanted.vnis.end()) return EINVAL;
  if (!wanted.restricts_resources) return 0;
  for (unsigned i = 0; i < kResources; ++i) {
    const auto what = static_cast<Resource>(i);
    // The device's own limits count portal 0, which is not handed out.
    const unsigned most = what == Resource::kPortals ? limits_.portals : resources_.total(what);
    if (wanted.shares[i].most < wanted.shares[i].kept || wanted.shares[i].most > most)
      return EINVAL;
  }
  return 0;
}

// Each VNI belongs to one service at most, except those of services for any VNI.
bool Services::overlaps(const Service& wanted) const {
  return std::ranges::any_of(rows_, [&wanted](const Row& row) {
    const Service& other = row.service;
    if (!has_service(other.id) || other.id == wanted.id) return false;
    if (wanted.range && other.range) return meet(*wanted.range, *other.range);
    if (wanted.range) {
      return std::ranges::any_of(other.vnis, [&wanted](std::uint16_t vni) {
        return vni >= wanted.range->first && vni <= wanted.range->last;
      });
    }
    if (other.vnis.empty() && !other.range) return false;
    return std::ranges::any_of(wanted.vnis,
                               [&other](std::uint16_t vni) { return other.has_vni(vni); });
  });
}

bool Services::has_pool(Resource what, unsigned pools) const {
  const auto keeps = [what](const Row& row) {
    return has_service(row.service.id) && row.service.shares[static_cast<unsigned>(what)].kept != 0;
  };
  return static_cast<unsigned>(std::ranges::count_if(rows_, keeps)) < pools;
}

Made<unsigned> Services::add(const Service& wanted, Shortage& shortage) {
  if (const int error = check(wanted); error != 0) return no(error);
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  Service service = wanted;
  service.id = 0;
  if (overlaps(service)) return no(EEXIST);
  Share& triggered = service.shares[static_cast<unsigned>(Resource::kTriggered)];
  if (service.restricts_resources && triggered.most != 0) {
    triggered.kept = std::max(triggered.kept, kTriggeredLeast);
    triggered.most = triggered.kept;
  }
  for (unsigned i = 0; i < kResources; ++i)
    if (service.shares[i].kept != 0)
      shortage.available[i] = resources_.unclaimed(static_cast<Resource>(i));
  // The default service has a pool of list entries without keeping any.
  const auto kept = [&service](Resource what) {
    return service.shares[static_cast<unsigned>(what)].kept != 0;
  };
  if (kept(Resource::kListEntries) && !has_pool(Resource::kListEntries, kEntryPools - 1))
    shortage.entry_pools = true;
  if (kept(Resource::kTriggered) && !has_pool(Resource::kTriggered, kTriggeredPools))
    shortage.triggered_pools = true;
  if (shortage.entry_pools || shortage.triggered_pools) return no(ENOSPC);
  unsigned id = kDefaultService;
  while (find(id))
    ++id;
  if (id > kServicesMax) return no(ENOSPC);
  unsigned row = 0;
  while (row < rows_.size() && has_service(rows_[row].service.id))
    ++row;
  if (row >= Sharing::kRows || !resources_.add(row, service.shares)) return no(ENOSPC);
  service.id = id;
  if (row == rows_.size()) rows_.emplace_back();
  rows_[row] = {std::move(service), 0};
  publish(row);
  return id;
}

bool Services::is_idle(unsigned row) {
  if (rows_[row].users > 0) return false;
  if (sharing_ == nullptr || sharing_->others(row, Sharing::kGroups) == 0) return true;
  return sharing_->forget_ended() && sharing_->others(row, Sharing::kGroups) == 0;
}

// The row of one that no LNI uses, of any process.
Made<unsigned> Services::idle(unsigned id) {
  const auto row = find(id);
  if (!row) return no(EINVAL);
  if (!is_idle(*row)) return no(EBUSY);
  return *row;
}

Made<void> Services::remove(unsigned id) {
  if (id == kDefaultService) return no(EINVAL);
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = idle(id);
  if (!row) return no(row.error());
  resources_.remove(*row);
  rows_[*row] = {Service{.vnis = {}}, 0};
  publish(*row);
  return {};
}

Made<void> Services::update(const Service& wanted) {
  if (const int error = check(wanted); error != 0) return no(error);
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = idle(wanted.id);
  if (!row) return no(row.error());
  Service& service = rows_[*row].service;
  if (service.restricts_resources != wanted.restricts_resources) return no(EINVAL);
  if (overlaps(wanted)) return no(EEXIST);
  Service next = wanted;
  next.shares = service.shares;
  next.range = wanted.vnis.empty() ? service.range : std::nullopt;
  next.any_vni = service.any_vni;
  next.network = service.network;
  next.exclusive_profiles = service.exclusive_profiles;
  next.groups_per_id = service.groups_per_id;
  next.is_system = service.is_system;
  service = std::move(next);
  publish(*row);
  return {};
}

Made<void> Services::enable(unsigned id, bool enabled) {
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = idle(id);
  if (!row) return no(row.error());
  rows_[*row].service.enabled = enabled;
  publish(*row);
  return {};
}

// A range is exactly a power of two of VNIs, at a multiple of that (cxi_svc_set_vni_range()).
Made<void> Services::set_range(unsigned id, VniRange range) {
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = find(id);
  if (!row || !rows_[*row].service.vnis.empty() || range.first == 0 || range.last < range.first)
    return no(EINVAL);
  const unsigned size = range.last - range.first + 1U;
  if (!std::has_single_bit(size) || range.first % size != 0) return no(EINVAL);
  Service wanted = rows_[*row].service;
  wanted.range = range;
  if (overlaps(wanted)) return no(EEXIST);
  rows_[*row].service.range = range;
  publish(*row);
  return {};
}

Made<void> Services::set_exclusive(unsigned id, bool exclusive) {
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = find(id);
  if (!row || !rows_[*row].service.range) return no(EINVAL);
  if (rows_[*row].service.enabled) return no(EBUSY);
  rows_[*row].service.exclusive_profiles = exclusive;
  publish(*row);
  return {};
}

Made<void> Services::set_groups_per_id(unsigned id, unsigned groups) {
  if (groups > kAddressContextsPerGroup) return no(EINVAL);
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = idle(id);
  if (!row) return no(row.error());
  rows_[*row].service.groups_per_id = groups;
  publish(*row);
  return {};
}

// Not together with users, groups, or everybody.
Made<void> Services::set_network(unsigned id, unsigned network) {
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = find(id);
  if (!row) return no(EINVAL);
  Service& service = rows_[*row].service;
  const bool has_member = std::ranges::any_of(
      service.members, [](const Member& one) { return one.kind != Member::Kind::kNone; });
  if (!service.restricts_members || has_member) return no(EEXIST);
  service.network = network;
  publish(*row);
  return {};
}

// The service cannot be removed meanwhile by another process.
Made<unsigned> Services::open(unsigned id, const Caller& caller) {
  const Turn turn(*this);
  if (!turn) return no(EAGAIN);
  const auto row = find(id);
  if (!row) return no(EINVAL);
  if (!at(*row).enabled) return no(EKEYREVOKED);
  if (!at(*row).admits(caller)) return no(EPERM);
  ++rows_[*row].users;
  tell_users(*row);
  return *row;
}

void Services::close(unsigned row) {
  PLNET_CHECK(rows_[row].users > 0, "each LNI opened its service");
  --rows_[row].users;
  tell_users(row);
}

Made<const Service*> Services::of_vni(unsigned vni, const Caller& caller, unsigned own) {
  refresh();
  // The superuser has each VNI that no service has.
  static const Service superuser;
  if (vni == 0 || vni > kVniMax) return no(EINVAL);
  if (at(own).has_vni(vni))
    return at(own).admits(caller) ? Made<const Service*>(&at(own)) : no(EPERM);
  for (const bool every : {false, true}) {
    bool closed = false;
    for (const Row& row : rows_) {
      const Service& service = row.service;
      if (!has_service(service.id) || !service.enabled || service.has_every_vni() != every ||
          !service.has_vni(vni))
        continue;
      if (service.admits(caller)) return &service;
      closed = true;
    }
    if (closed) return no(EPERM);
  }
  if (caller.user == kSuperuser) return &superuser;
  return no(ENOENT);
}

bool Services::has_vni(unsigned vni, const Caller& caller) {
  refresh();
  return std::ranges::any_of(rows_, [vni, &caller](const Row& row) {
    return has_service(row.service.id) && row.service.enabled && row.service.has_vni(vni) &&
           row.service.admits(caller);
  });
}

}  // namespace plnet::cassini::soft
