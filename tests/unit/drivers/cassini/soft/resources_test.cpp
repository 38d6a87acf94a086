// SPDX-License-Identifier: BSD-3-Clause
// Objects of each kind, for the NIC and for a service, are taken until none is left; and all of
// it can be had again.
#include "drivers/net/cassini/soft/resources.hpp"

#include <cerrno>

#include <sys/mman.h>

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::resources_test {
namespace {

using rigs::Arena;
using rigs::Host;
using Long = layout::TargetLong;

constexpr unsigned kPages = 4096;

Service service(unsigned id, Resource what, Share share) {
  Service one{.id = id, .vnis = {}};
  one.shares[static_cast<unsigned>(what)] = share;
  return one;
}

TEST(SoftResources, KeptIsThereAndMostIsTheEnd) {
  const std::vector<Service> services{service(1, Resource::kPortals, {}),
                                      service(2, Resource::kPortals, {.most = 4, .kept = 2})};
  Resources resources({.portals = 6}, services);  // 5: number 0 is unused
  const auto take = [&](unsigned row) { return resources.take(row, Resource::kPortals); };
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_TRUE(take(0));
  EXPECT_FALSE(take(0)) << "two are kept for the other";
  EXPECT_TRUE(take(1));
  EXPECT_TRUE(take(1));
  EXPECT_FALSE(take(1)) << "none is left";
  resources.give(0, Resource::kPortals);
  resources.give(0, Resource::kPortals);
  for (unsigned i = 0; i < 2; ++i)
    EXPECT_TRUE(take(1));
  resources.give(0, Resource::kPortals);
  EXPECT_FALSE(take(1)) << "its most";
  EXPECT_EQ(resources.used(1, Resource::kPortals), 4U);
  EXPECT_EQ(resources.used(Resource::kPortals), 4U);
}

// Allocates until the NIC returns ENOSPC, releases everything, and allocates once more.
template <class Make, class Drop>
void run_out(unsigned expected, Make make, Drop drop) {
  std::vector<unsigned> made;
  for (;;) {
    const Made<unsigned> one = make();
    if (!one) {
      EXPECT_EQ(one.error(), ENOSPC);
      break;
    }
    made.push_back(*one);
    ASSERT_LE(made.size(), expected);
  }
  EXPECT_EQ(made.size(), expected);
  for (const unsigned one : made)
    EXPECT_TRUE(drop(one));
  const Made<unsigned> again = make();
  EXPECT_TRUE(again && drop(*again));
}

struct Whole {
  Whole() : nic({.address = 1}), memory(kPages), group(nic.make_group(kDefaultService).value()) {
    (void)nic.make_profile(group, 255, 1).value();
    mapping = nic.map(group, memory.data(), kPages, true, true).value();
  }
  Nic nic;
  Arena memory;
  unsigned group, mapping = 0;
};

TEST(SoftLimits, TransmitQueues) {
  Whole whole;
  run_out(
      1024,
      [&] { return whole.nic.make_command_queue(whole.group, {.slots = 64, .transmit = true}); },
      [&](unsigned index) { return whole.nic.drop_command_queue(index); });
}

TEST(SoftLimits, TargetQueues) {
  Whole whole;
  run_out(
      512, [&] { return whole.nic.make_command_queue(whole.group, {.slots = 64}); },
      [&](unsigned index) { return whole.nic.drop_command_queue(index); });
}

TEST(SoftLimits, EventQueues) {
  Whole whole;
  run_out(
      2047,
      [&] {
        return whole.nic.make_event_queue(whole.group, whole.mapping,
                                          {.memory = whole.memory.data(), .bytes = kPages});
      },
      [&](unsigned number) { return whole.nic.drop_event_queue(number); });
}

TEST(SoftLimits, Portals) {
  Whole whole;
  run_out(
      2047, [&] { return whole.nic.make_portal(whole.group, 0, {}); },
      [&](unsigned number) { return whole.nic.drop_portal(number); });
}

TEST(SoftLimits, Counters) {
  Whole whole;
  run_out(
      2047, [&] { return whole.nic.make_counter(whole.group, nullptr); },
      [&](unsigned number) { return whole.nic.drop_counter(number); });
}

TEST(SoftLimits, ResourceGroups) {
  Nic nic({.address = 1});
  run_out(
      256, [&] { return nic.make_group(kDefaultService); },
      [&](unsigned number) { return nic.drop_group(number); });
}

// LNIs of a service that lets two share a resource group, and of one that does not.
TEST(SoftLimits, ResourceGroupsAreShared) {
  Limits limits;
  limits.resource_groups = 3;
  Nic nic(
      {.address = 1,
       .limits = limits,
       .services = {Service{.id = kDefaultService, .vnis = {}}, Service{.id = 2, .vnis = {2}}}});
  ASSERT_TRUE(nic.services().set_groups_per_id(2, 2));
  std::vector<unsigned> shared;
  for (unsigned i = 0; i < 4; ++i)
    shared.push_back(nic.make_group(2).value());
  ASSERT_TRUE(nic.make_group(kDefaultService));
  EXPECT_EQ(nic.make_group(kDefaultService).error(), ENOSPC);
  EXPECT_EQ(nic.make_group(2).error(), ENOSPC) << "two have two each";
  ASSERT_TRUE(nic.drop_group(shared[0]));
  EXPECT_EQ(nic.make_group(kDefaultService).error(), ENOSPC) << "the other LNI is still there";
  ASSERT_TRUE(nic.make_group(2));
}

TEST(SoftLimits, Profiles) {
  Nic nic({.address = 1});
  const unsigned group = nic.make_group(kDefaultService).value();
  unsigned vni = 0;
  run_out(
      16, [&] { return nic.make_profile(group, ++vni, 1); },
      [&](unsigned lcid) { return nic.drop_profile(group, lcid); });
}

// Eight to a group, independent of the order of the mappings.
TEST(SoftLimits, AddressContexts) {
  Nic nic({.address = 1});
  Arena memory(kPages);
  const auto map = [&](unsigned group) {
    return nic.map(group, memory.data(), kPages, true, true);
  };
  unsigned contexts = 0;
  while (contexts < 1024) {
    const unsigned group = nic.make_group(kDefaultService).value();
    for (unsigned i = 0; i < 1000 && nic.tables().groups[group]->space.contexts() < 8; ++i)
      ASSERT_TRUE(map(group));
    contexts += nic.tables().groups[group]->space.contexts();
  }
  EXPECT_EQ(contexts, 1024U);
  const unsigned last = nic.make_group(kDefaultService).value();
  EXPECT_EQ(map(last).error(), ENOSPC);
  EXPECT_EQ(nic.tables().groups[last]->space.contexts(), 0U);
  EXPECT_TRUE(map(0)) << "in a context that is there";
}

// Mappings of one kind share a context; the ninth kind finds none.
TEST(SoftLimits, KindsOfMappings) {
  Nic nic({.address = 1});
  const unsigned group = nic.make_group(kDefaultService).value();
  Arena memory(kPages);
  const auto map = [&](std::uint64_t kind) {
    return nic.map(group, memory.data(), kPages, {.read = true, .write = true, .kind = kind});
  };
  const unsigned first = map(1).value();
  const unsigned second = map(1).value();
  EXPECT_EQ(nic.mapping(second).lac, nic.mapping(first).lac);
  std::vector<unsigned> others;
  for (std::uint64_t kind = 2; kind <= kAddressContextsPerGroup; ++kind)
    others.push_back(map(kind).value());
  EXPECT_EQ(nic.resources().used(Resource::kAddressContexts), kAddressContextsPerGroup);
  EXPECT_EQ(map(kAddressContextsPerGroup + 1).error(), ENOSPC);
  EXPECT_TRUE(nic.unmap(others.front()));
  EXPECT_TRUE(map(kAddressContextsPerGroup + 1)) << "an empty context takes any kind";
}

// A context has 32 GiB, of which a process may map more than it has (cass_nta.c: ac_size_dbl).
TEST(SoftLimits, RoomOfAnAddressContext) {
  Nic nic({.address = 1});
  const unsigned group = nic.make_group(kDefaultService).value();
  Arena memory(kPages);
  const auto map = [&](std::size_t bytes) {
    return nic.map(group, memory.data(), bytes, {.read = true, .on_demand = true, .kind = 1})
        .value();
  };
  const auto lac = [&nic](unsigned number) { return nic.mapping(number).lac; };
  constexpr std::size_t kGiB = std::size_t{1} << 30U;
  const unsigned large = map(31 * kGiB);
  const unsigned small = map(kGiB);
  EXPECT_EQ(lac(small), lac(large));
  EXPECT_NE(lac(map(kPages)), lac(large)) << "it is full";
  const unsigned huge = map(100 * kGiB);
  EXPECT_NE(lac(huge), lac(large));
  EXPECT_NE(lac(map(32 * kGiB)), lac(huge));
  ASSERT_TRUE(nic.unmap(small));
  EXPECT_EQ(lac(map(kGiB)), lac(large)) << "there is room again";
}

TEST(SoftLimits, ClassesOfTheNic) {
  Nic nic({.address = 1, .traffic_classes = 0b1001});
  const unsigned group = nic.make_group(kDefaultService).value();
  EXPECT_TRUE(nic.make_profile(group, 1, 0));
  EXPECT_EQ(nic.make_profile(group, 1, 1).error(), EINVAL);
  EXPECT_EQ(nic.make_profile(group, 1, 2).error(), EINVAL);
  EXPECT_TRUE(nic.make_profile(group, 1, 3));
}

TEST(SoftLimits, ListEntriesOfTheWholeNic) {
  Fabric fabric;
  Host host(fabric, {});
  const auto told = [](std::byte* slot) { layout::Target::EventLinkDisable::set(slot, 0); };
  for (unsigned i = 0; i < 65536; ++i)
    host.append(host.arena.data(), 64, i % 65535 + 1, 7);
  EXPECT_EQ(host.nic.resources().used(Resource::kListEntries), 65536U);
  host.append(host.arena.data(), 64, 9, 7, told);
  EXPECT_EQ(host.expect(EventType::kLink, ReturnCode::kNoSpace).get<Long::BufferId>(), 9U);
  host.unlink(1);
  (void)host.expect(EventType::kUnlink);
  host.append(host.arena.data(), 64, 10, 7, told);
  (void)host.expect(EventType::kLink);
}

// The entries of one service are exhausted, those of the other are not.
TEST(SoftLimits, ListEntriesOfAService) {
  Fabric fabric;
  Nic& nic = fabric.add(
      {.address = 1,
       .services = {service(kDefaultService, Resource::kListEntries, {.most = 3, .kept = 1}),
                    service(2, Resource::kListEntries, {.kept = 4})}});
  Host host(nic, [&](std::uint64_t now) { fabric.step(now); }, {});
  const auto told = [](std::byte* slot) { layout::Target::EventLinkDisable::set(slot, 0); };
  for (unsigned id = 1; id <= 3; ++id) {
    host.append(host.arena.data(), 64, id, 7, told);
    (void)host.expect(EventType::kLink);
  }
  host.append(host.arena.data(), 64, 4, 7, told);
  (void)host.expect(EventType::kLink, ReturnCode::kNoSpace);
  const unsigned other = nic.make_group(2).value();
  const unsigned portal = nic.make_portal(other, 0, {.matching = true}).value();
  EXPECT_NE(nic.tables().take_entry(nic.tables().portals[portal]), kNoEntry);
  // Entries that go with their portal come back.
  ASSERT_TRUE(nic.unmap_portal(host.domain.key, 0));
  ASSERT_TRUE(nic.unmap_portal(host.domain.key, 128));
  ASSERT_TRUE(nic.drop_portal(host.portal));
  EXPECT_EQ(nic.resources().used(0, Resource::kListEntries), 0U);
}

TEST(SoftLimits, QueuesOfAService) {
  Nic nic(
      {.address = 1, .services = {service(kDefaultService, Resource::kTargetQueues, {.most = 2})}});
  const unsigned group = nic.make_group(kDefaultService).value();
  run_out(
      2, [&] { return nic.make_command_queue(group, {.slots = 64}); },
      [&](unsigned index) { return nic.drop_command_queue(index); });
}

TEST(SoftLimits, SizesOfAQueue) {
  Whole whole;
  EXPECT_EQ(whole.nic.make_command_queue(whole.group, {.slots = 65537}).error(), E2BIG);
  EXPECT_TRUE(whole.nic.make_command_queue(whole.group, {.slots = 65536}));
}

TEST(SoftNic, EventQueueMovesToLargerMemory) {
  Fabric fabric;
  Host host(fabric, {.eq_bytes = 8192});
  Arena larger(16384);
  const unsigned mapping = host.nic.map(host.group, larger.data(), 16384, true, true).value();
  EXPECT_EQ(host.nic.complete_resize(host.eq).error(), EINVAL) << "nothing has begun";
  EXPECT_EQ(host.nic.resize_event_queue(host.eq, mapping, larger.data() + 64, 8192).error(),
            EINVAL);
  ASSERT_TRUE(host.nic.resize_event_queue(host.eq, mapping, larger.data(), 16384));
  EXPECT_EQ(host.nic.resize_event_queue(host.eq, mapping, larger.data(), 16384).error(), EINVAL);
  EXPECT_EQ(host.nic.unmap(mapping).error(), EBUSY);
  EXPECT_EQ(host.nic.unmap(host.eq_mapping).error(), EBUSY) << "it is read to its end";
  (void)host.expect(EventType::kEqSwitch);
  ASSERT_TRUE(host.nic.complete_resize(host.eq));
  EXPECT_TRUE(host.nic.unmap(host.eq_mapping));
  host.events = {};
  host.events.attach(larger.data(), larger.size(), host.nic.event_queue(host.eq)->software_state());
  host.set_state(PortalState::kDisabled);
  (void)host.expect(EventType::kStateChange);
}

// Pages that are not there fail the operation, and nothing else.
TEST(SoftNic, MemoryOnDemandMayBeMissing) {
  Fabric fabric;
  Host a(fabric, {.address = 1, .pid = 7});
  Host b(fabric, {.address = 2, .pid = 9});
  constexpr std::size_t kBytes = 2 * kPages;
  auto* const pages = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  const unsigned mapping =
      b.nic.map(b.group, pages, kBytes, {.read = true, .write = true, .on_demand = true}).value();
  const MappingEntry& entry = b.nic.mapping(mapping);
  const auto append = [&](unsigned id) {
    b.append(b.arena.data(), 64, id, 7, [&](std::byte* slot) {
      layout::Target::Start::set(slot, entry.iova);
      layout::Target::Lac::set(slot, entry.lac);
    });
  };
  append(1);
  a.arena.data()[0] = std::byte{77};
  a.put(b, a.arena.data(), 64, 7);
  EXPECT_EQ(a.expect(EventType::kAck, ReturnCode::kOk).code, ReturnCode::kOk);
  EXPECT_EQ(pages[0], std::byte{77});
  const auto requests = [&b] { return b.nic.tables().stats.get(NicStats::Id::kPageRequests); };
  EXPECT_EQ(requests(), 1U);
  append(3);
  a.put(b, a.arena.data(), 64, 7);
  (void)a.expect(EventType::kAck);
  EXPECT_EQ(requests(), 1U) << "the page is known";
  b.nic.know_pages(mapping, kPages, 64);
  const auto& space = b.nic.tables().group(b.group)->space;
  EXPECT_EQ(space.translate(entry.lac, entry.iova + kPages, 64, Access::kRead).requests, 0U);
  ASSERT_EQ(munmap(pages, kBytes), 0);
  append(2);
  a.put(b, a.arena.data(), 64, 7);
  (void)a.expect(EventType::kAck, ReturnCode::kPageRequestError);
}

}  // namespace
}  // namespace plnet::cassini::soft::resources_test
