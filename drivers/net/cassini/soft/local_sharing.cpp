// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/local_sharing.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <type_traits>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kSlots = kSharesMax;
constexpr unsigned kVnis = 4;
constexpr unsigned kUseMax = 1U << 24U;  // more is not believed
constexpr off_t kTurnLock = 0;           // bytes of the file that are locked
constexpr off_t kFirstSlotLock = 1;

enum Flag : std::uint32_t {
  kEnabled = 1U << 0U,
  kAnyVni = 1U << 1U,
  kHasRange = 1U << 2U,
  kRestrictsMembers = 1U << 3U,
  kRestrictsClasses = 1U << 4U,
  kRestrictsResources = 1U << 5U,
  kHasNetwork = 1U << 6U,
  kIsSystem = 1U << 7U,
  kExclusive = 1U << 8U,
};

// A service in the file; the id 0 is none.
struct Record {
  std::uint32_t id = 0;
  std::uint32_t flags = 0;
  std::array<std::uint16_t, kVnis> vnis{};
  std::uint32_t vni_count = 0;
  std::uint32_t traffic_classes = 0;
  std::uint16_t range_first = 0, range_last = 0;
  std::array<std::array<std::uint32_t, 2>, kServiceMembers> members{};  // kind, id
  std::uint32_t network = 0;
  std::uint32_t counter_pool = 0;
  std::uint32_t groups_per_id = 0;
  std::array<std::array<std::uint32_t, 2>, kResources> shares{};  // most, kept
};
static_assert(std::is_trivially_copyable_v<Record>);
static_assert(std::has_unique_object_representations_v<Record>, "it is compared as bytes");

std::uint32_t flags_of(const Service& service) {
  std::uint32_t flags = 0;
  const auto set = [&flags](bool is, Flag flag) { flags |= is ? std::uint32_t{flag} : 0U; };
  set(service.enabled, kEnabled);
  set(service.any_vni, kAnyVni);
  set(service.range.has_value(), kHasRange);
  set(service.restricts_members, kRestrictsMembers);
  set(service.restricts_classes, kRestrictsClasses);
  set(service.restricts_resources, kRestrictsResources);
  set(service.network.has_value(), kHasNetwork);
  set(service.is_system, kIsSystem);
  set(service.exclusive_profiles, kExclusive);
  return flags;
}

Record record_of(const Service& service) {
  Record record{.id = service.id, .flags = flags_of(service)};
  record.vni_count = static_cast<std::uint32_t>(std::min<std::size_t>(service.vnis.size(), kVnis));
  std::copy_n(service.vnis.begin(), record.vni_count, record.vnis.begin());
  record.traffic_classes = service.traffic_classes;
  if (service.range) {
    record.range_first = service.range->first;
    record.range_last = service.range->last;
  }
  for (unsigned i = 0; i < kServiceMembers; ++i)
    record.members[i] = {static_cast<std::uint32_t>(service.members[i].kind),
                         service.members[i].id};
  record.network = service.network.value_or(0);
  record.counter_pool = service.counter_pool;
  record.groups_per_id = service.groups_per_id;
  for (unsigned i = 0; i < kResources; ++i)
    record.shares[i] = {service.shares[i].most, service.shares[i].kept};
  return record;
}

Service service_of(const Record& record) {
  Service service{.id = record.id, .vnis = {}};
  const auto has = [&record](Flag flag) { return (record.flags & flag) != 0; };
  service.enabled = has(kEnabled);
  service.any_vni = has(kAnyVni);
  service.restricts_members = has(kRestrictsMembers);
  service.restricts_classes = has(kRestrictsClasses);
  service.restricts_resources = has(kRestrictsResources);
  service.is_system = has(kIsSystem);
  service.exclusive_profiles = has(kExclusive);
  const std::uint32_t count = std::min(record.vni_count, kVnis);
  service.vnis.assign(record.vnis.begin(), record.vnis.begin() + count);
  service.traffic_classes = record.traffic_classes & kAllTrafficClasses;
  if (has(kHasRange)) service.range = {record.range_first, record.range_last};
  for (unsigned i = 0; i < kServiceMembers; ++i) {
    const auto kind = std::min(record.members[i][0], std::uint32_t{2});
    service.members[i] = {static_cast<Member::Kind>(kind), record.members[i][1]};
  }
  if (has(kHasNetwork)) service.network = record.network;
  service.counter_pool = record.counter_pool & 0xfU;
  service.groups_per_id = std::min(record.groups_per_id, 8U);
  for (unsigned i = 0; i < kResources; ++i)
    service.shares[i] = {.most = record.shares[i][0],
                         .kept = std::min(record.shares[i][1], kUseMax)};
  return service;
}

// FNV-1a of the services: the description that the file was begun with.
std::uint64_t fingerprint(std::span<const Service> services) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const Service& service : services) {
    for (const std::byte one :
         std::bit_cast<std::array<std::byte, sizeof(Record)>>(record_of(service)))
      hash = (hash ^ std::to_integer<std::uint64_t>(one)) * 0x100000001b3ULL;
  }
  return hash;
}

using Use = std::atomic<std::uint32_t>;
using Counted = std::atomic<std::uint64_t>;
static_assert(Use::is_always_lock_free && Counted::is_always_lock_free, "shared with processes");

}  // namespace

// All zero in a new file.
struct LocalSharing::Memory {
  static constexpr std::uint64_t kMagic = 0x31'4352'5343'4c50ULL;  // "PLCSRC1": with this layout
  std::uint64_t magic;
  std::uint64_t description;  // fingerprint() of the services of the start
  std::atomic<std::uint32_t> version;
  // A process may be killed while it replaces a service: the next one does it again from here.
  std::uint32_t stored_row;  // plus 1; 0: nothing is under way
  Record stored;
  std::array<Record, kRows> records;
  // One bit for each slot that may be in use.
  std::atomic<std::uint32_t> slots;
  struct alignas(64) Slot {
    std::array<std::array<Use, kUses>, kRows> uses;
    std::array<Counted, kCountersMax> counts;
  };
  std::array<Slot, kSlots> slot;
};

std::string LocalSharing::file_name(NicAddress nic) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name = "/nic-";
  for (int shift = 16; shift >= 0; shift -= 4)
    name += kDigits[nic >> static_cast<unsigned>(shift) & 0xfU];
  return name + ".services";
}

LocalSharing::Memory& LocalSharing::memory() const {
  return *reinterpret_cast<Memory*>(mapping_.memory());
}

plnet::Outcome<std::unique_ptr<LocalSharing>> LocalSharing::open(const std::string& path,
                                                                 std::span<const Service> first,
                                                                 int patience_ms) {
  constexpr mode_t kOwner = 0600;
  auto made = std::unique_ptr<LocalSharing>(new LocalSharing(patience_ms));
  made->file_ = LocalDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwner));
  if (made->file_ && ::ftruncate(made->file_.number(), sizeof(Memory)) == 0)
    made->mapping_ = LocalMapping(made->file_.number(), sizeof(Memory));
  if (!made->mapping_) {
    const int number = errno;
    return failure(errc_of_errno(number),
                   "cassini: " + path + ": " + std::generic_category().message(number));
  }
  if (!made->lock())
    return failure(Errc::kBusy, "cassini: " + path + ": another process changes services");
  auto done = made->start(path, first);
  made->unlock();
  if (!done) return std::unexpected(std::move(done.error()));
  return made;
}

plnet::Outcome<void> LocalSharing::start(const std::string& path, std::span<const Service> first) {
  if (!take_slot())
    return failure(Errc::kBusy, "cassini: " + path + ": " + std::to_string(kSlots) +
                                    " processes have this NIC already");
  Memory& all = memory();
  const bool is_new = all.magic != Memory::kMagic;
  const std::uint64_t description = fingerprint(first);
  const bool is_alone_now = is_alone();
  if (is_new && !is_alone_now)
    return failure(Errc::kBusy, "cassini: " + path + ": another version of libcxi has this NIC");
  if (is_alone_now && (is_new || all.description != description)) {
    all.stored_row = 0;
    all.records = {};
    for (unsigned row = 0; row < first.size() && row < kRows; ++row)
      all.records[row] = record_of(first[row]);
    all.description = description;
    all.magic = Memory::kMagic;
    all.version.fetch_add(1, std::memory_order_release);
  }
  all.slots.fetch_or(1U << slot_, std::memory_order_relaxed);
  for (auto& row : all.slot[slot_].uses)
    for (Use& use : row)
      use.store(0, std::memory_order_relaxed);
  for (unsigned i = 0; i < kCountersMax; ++i)
    before_[i] = all.slot[slot_].counts[i].load(std::memory_order_relaxed);
  return {};
}

// Its use goes at once; the kernel gives the lock back.
LocalSharing::~LocalSharing() {
  if (!mapping_ || slot_ == kNoSlot) return;
  for (auto& row : memory().slot[slot_].uses)
    for (Use& use : row)
      use.store(0, std::memory_order_relaxed);
}

bool LocalSharing::take_slot() {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!set_byte_lock(file_, F_WRLCK, kFirstSlotLock + slot)) continue;
    slot_ = slot;
    return true;
  }
  return false;
}

// No other process has a slot.
bool LocalSharing::is_alone() {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (slot == slot_) continue;
    if (!set_byte_lock(file_, F_WRLCK, kFirstSlotLock + slot)) return false;
    (void)set_byte_lock(file_, F_UNLCK, kFirstSlotLock + slot);
  }
  return true;
}

// A process holds it for microseconds, unless it is stopped or means harm. The kernel has no wait
// for a lock that ends.
bool LocalSharing::lock() {
  constexpr int kPauseMs = 1;
  for (int tries = 0; !set_byte_lock(file_, F_WRLCK, kTurnLock); ++tries) {
    if (tries == patience_ms_ || (errno != EAGAIN && errno != EACCES && errno != EINTR))
      return false;
    (void)::poll(nullptr, 0, kPauseMs);
  }
  finish_store();
  return true;
}

void LocalSharing::unlock() {
  (void)set_byte_lock(file_, F_UNLCK, kTurnLock);
}

std::uint32_t LocalSharing::version() const {
  return memory().version.load(std::memory_order_acquire);
}

std::vector<Service> LocalSharing::load() const {
  std::vector<Service> services;
  unsigned count = 0;
  for (unsigned row = 0; row < kRows; ++row)
    if (memory().records[row].id != 0) count = row + 1;
  services.reserve(count);
  for (unsigned row = 0; row < count; ++row)
    services.push_back(service_of(memory().records[row]));
  return services;
}

void LocalSharing::store(unsigned row, const Service& service) {
  Memory& all = memory();
  all.stored = record_of(service);
  std::atomic_ref(all.stored_row).store(row + 1, std::memory_order_release);
  finish_store();
}

void LocalSharing::finish_store() {
  Memory& all = memory();
  const std::uint32_t row = all.stored_row;
  if (row == 0) return;
  if (row <= kRows) all.records[row - 1] = all.stored;
  all.version.fetch_add(1, std::memory_order_release);
  std::atomic_ref(all.stored_row).store(0, std::memory_order_release);
}

// Visible before the others are looked at: of two processes that take the last object at the same
// time, none gets it, or one.
void LocalSharing::tell(unsigned row, unsigned use, unsigned number) {
  memory().slot[slot_].uses[row][use].store(number, std::memory_order_seq_cst);
}

unsigned LocalSharing::others(unsigned row, unsigned use) const {
  const Memory& all = memory();
  unsigned sum = 0;
  unsigned slots = all.slots.load(std::memory_order_relaxed) & ~(1U << slot_);
  for (slots &= (1U << kSlots) - 1; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<unsigned>(std::countr_zero(slots));
    sum += std::min(all.slot[slot].uses[row][use].load(std::memory_order_seq_cst), kUseMax);
  }
  return sum;
}

bool LocalSharing::forget_ended() {
  Memory& all = memory();
  bool found = false;
  unsigned slots = all.slots.load(std::memory_order_relaxed) & ~(1U << slot_);
  for (slots &= (1U << kSlots) - 1; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<unsigned>(std::countr_zero(slots));
    // While this process has the lock, no other one takes the slot.
    if (!set_byte_lock(file_, F_WRLCK, kFirstSlotLock + slot)) continue;
    for (auto& row : all.slot[slot].uses) {
      for (Use& use : row) {
        if (use.load(std::memory_order_relaxed) == 0) continue;
        use.store(0, std::memory_order_relaxed);
        found = true;
      }
    }
    all.slots.fetch_and(~(1U << slot), std::memory_order_relaxed);
    (void)set_byte_lock(file_, F_UNLCK, kFirstSlotLock + slot);
  }
  return found;
}

void LocalSharing::tell_counters(std::span<const std::uint64_t> counts) {
  for (std::size_t i = 0; i < counts.size() && i < kCountersMax; ++i)
    memory().slot[slot_].counts[i].store(before_[i] + counts[i], std::memory_order_relaxed);
}

std::uint64_t LocalSharing::counted_by_others(unsigned counter) const {
  std::uint64_t sum = before_[counter];
  for (unsigned slot = 0; slot < kSlots; ++slot)
    if (slot != slot_) sum += memory().slot[slot].counts[counter].load(std::memory_order_relaxed);
  return sum;
}

}  // namespace plnet::cassini::soft
