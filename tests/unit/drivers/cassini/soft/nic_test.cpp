// SPDX-License-Identifier: BSD-3-Clause
// Objects of a software NIC: limits, error numbers, order of destruction, addresses.
#include <cerrno>

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::nic_test {
namespace {

using rigs::Arena;
using rigs::Host;

template <class T>
int error_of(const Made<T>& made) {
  return made ? 0 : made.error();
}

Limits few() {
  return {.transmit_queues = 2,
          .target_queues = 3,
          .event_queues = 4,
          .portals = 5,
          .counters = 3,
          .resource_groups = 2,
          .list_entries = 4,
          .profiles = 3,
          .mappings = 6};
}

TEST(SoftNic, GroupsOfServices) {
  Nic nic({.address = 1,
           .limits = few(),
           .services = {{1, true, {}, 0xf}, {2, false, {}, 0xf}, {3, true, {255}, 0x2}}});
  EXPECT_EQ(error_of(nic.make_group(9)), EINVAL);
  EXPECT_EQ(error_of(nic.make_group(2)), EKEYREVOKED);
  const unsigned first = nic.make_group(1).value();
  const unsigned second = nic.make_group(3).value();
  EXPECT_EQ(error_of(nic.make_group(1)), ENOSPC);
  EXPECT_EQ(error_of(nic.make_profile(second, 255, 0)), EINVAL) << "traffic class of another";
  EXPECT_TRUE(nic.make_profile(second, 255, 1));
  EXPECT_EQ(error_of(nic.drop_group(second)), EBUSY);
  EXPECT_TRUE(nic.drop_profile(second, 0));
  EXPECT_TRUE(nic.drop_group(second));
  EXPECT_TRUE(nic.drop_group(first));
  EXPECT_EQ(error_of(nic.drop_group(first)), EINVAL);
}

// A VNI that the own service has not is of another that admits the caller, or the superuser's.
TEST(SoftNic, VnisOfOtherServices) {
  Service closed{.id = 3, .vnis = {30}};
  closed.restricts_members = true;
  closed.members[0] = {.kind = Member::Kind::kUser, .id = 7};
  Nic nic(
      {.address = 1,
       .services = {{1, true, {10}, 0xf}, {2, true, {20}, 0x2}, closed, {4, false, {40}, 0xf}}});
  const unsigned group = nic.make_group(1).value();
  const auto profile = [&](unsigned vni, unsigned traffic_class, unsigned user) {
    return nic.make_profile(group, vni, traffic_class, {.caller = {.user = user}});
  };
  EXPECT_TRUE(profile(20, 1, 5));
  EXPECT_EQ(error_of(profile(20, 0, 5)), EINVAL) << "traffic class of the other service";
  EXPECT_EQ(error_of(profile(30, 0, 5)), EPERM);
  EXPECT_EQ(error_of(profile(30, 0, 0)), EPERM) << "it does not list the superuser";
  EXPECT_TRUE(profile(30, 0, 7));
  EXPECT_EQ(error_of(profile(40, 0, 5)), ENOENT) << "not enabled";
  EXPECT_EQ(error_of(profile(50, 0, 5)), ENOENT);
  EXPECT_TRUE(profile(50, 0, 0));
  EXPECT_EQ(error_of(profile(0, 0, 0)), EINVAL);
  EXPECT_EQ(error_of(nic.make_domain(group, 50, 3, {.user = 5})), ENOENT);
  EXPECT_EQ(error_of(nic.make_domain(group, 30, 3, {.user = 5})), EPERM);
  EXPECT_TRUE(nic.make_domain(group, 20, 3, {.user = 5}));
}

// A service for every VNI does not open one that another service keeps to its members.
TEST(SoftNic, ServiceForEveryVniIsAskedLast) {
  Service closed{.id = 3, .vnis = {30}};
  closed.restricts_members = true;
  Nic nic({.address = 1, .services = {{1, true, {}, 0xf}, {2, true, {20}, 0x2}, closed}});
  const unsigned group = nic.make_group(2).value();
  EXPECT_EQ(error_of(nic.make_profile(group, 30, 1)), EPERM);
  EXPECT_TRUE(nic.make_profile(group, 31, 3));
}

TEST(SoftNic, ProfilesRunOut) {
  Nic nic({.address = 1, .limits = few()});
  const unsigned group = nic.make_group(1).value();
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(nic.make_profile(group, 255, i).value(), i);
  EXPECT_EQ(error_of(nic.make_profile(group, 255, 3)), ENOSPC);
  EXPECT_TRUE(nic.drop_profile(group, 1));
  EXPECT_EQ(nic.make_profile(group, 255, 3).value(), 1U);
  EXPECT_EQ(error_of(nic.make_profile(group, 0, 1)), EINVAL);
  EXPECT_EQ(error_of(nic.make_profile(group, 255, 4)), EINVAL);
}

TEST(SoftNic, ProfilesAreShared) {
  Nic nic({.address = 1});
  const unsigned group = nic.make_group(1).value();
  const auto make = [&](unsigned vni, ProfileKind kind) {
    return nic.make_profile(group, vni, 1, {.kind = kind});
  };
  EXPECT_EQ(make(255, ProfileKind::kNotTriggered).value(), 1U);
  EXPECT_EQ(make(255, ProfileKind::kNotTriggered).value(), 1U) << "the same VNI and class";
  EXPECT_EQ(make(255, ProfileKind::kTriggered).value(), 0U);
  EXPECT_EQ(error_of(make(256, ProfileKind::kTriggered)), ENOSPC) << "there is one such LCID";
  EXPECT_EQ(make(256, ProfileKind::kAny).value(), 2U);
  EXPECT_TRUE(nic.drop_profile(group, 1));
  EXPECT_EQ(nic.make_command_queue(group, {.transmit = true, .lcid = 1}).value(), 0U);
  EXPECT_EQ(error_of(nic.drop_profile(group, 1)), EBUSY);
  EXPECT_EQ(
      error_of(nic.make_command_queue(group, {.transmit = true, .triggered = true, .lcid = 1})),
      EINVAL)
      << "triggered commands use LCID 0";
  EXPECT_EQ(error_of(nic.change_profile(group, 1, 300)), EINVAL) << "others may share it";
}

// To any VNI that some service lets the caller use (cass_cpt.c: cxi_cp_modify()).
TEST(SoftNic, ExclusiveProfileChangesItsVni) {
  Service exclusive{.id = 2, .vnis = {}};
  exclusive.any_vni = false;
  exclusive.range = {16, 31};
  exclusive.exclusive_profiles = true;
  Nic nic({.address = 1, .services = {Service{.id = kDefaultService, .vnis = {1}}, exclusive}});
  const unsigned group = nic.make_group(kDefaultService).value();
  const unsigned lcid = nic.make_profile(group, 16, 1).value();
  EXPECT_TRUE(nic.change_profile(group, lcid, 31));
  EXPECT_TRUE(nic.change_profile(group, lcid, 1));
  EXPECT_EQ(error_of(nic.change_profile(group, lcid, 32)), EINVAL);
  const unsigned common = nic.make_profile(group, 1, 1).value();
  EXPECT_EQ(error_of(nic.change_profile(group, common, 16)), EINVAL);
}

TEST(SoftNic, DomainReceivesTheRangeOfItsService) {
  Service range{.id = 2, .vnis = {}};
  range.range = {16, 31};
  Nic nic({.address = 1, .services = {Service{.id = kDefaultService, .vnis = {1}}, range}});
  const unsigned group = nic.make_group(2).value();
  const auto made = nic.make_domain(group, 20, 5).value();
  EXPECT_EQ(error_of(nic.make_domain(group, 31, 5)), EEXIST);
  EXPECT_TRUE(nic.make_domain(group, 31, 6));
  EXPECT_TRUE(nic.make_domain(group, 1, 5)) << "the other service's";
  EXPECT_EQ(nic.tables().domain(31, 5), nic.tables().domain(20, 5));
  EXPECT_EQ(nic.tables().domain(16, 6)->vni, 31);
  EXPECT_EQ(nic.tables().domain(32, 5), nullptr);
  ASSERT_TRUE(nic.drop_domain(made.key));
  EXPECT_EQ(nic.tables().domain(31, 5), nullptr);
}

TEST(SoftNic, PidsAreReserved) {
  Nic nic({.address = 1});
  const unsigned group = nic.make_group(1).value();
  const unsigned other = nic.make_group(1).value();
  EXPECT_EQ(error_of(nic.reserve_pids(group, 1, 0, 0)), EINVAL);
  EXPECT_EQ(error_of(nic.reserve_pids(group, 1, 512, 1)), EINVAL);
  EXPECT_EQ(nic.reserve_pids(group, 1, kPidAnyValue, 10).value(), 0U);
  EXPECT_EQ(error_of(nic.reserve_pids(group, 1, 0, 10)), EEXIST);
  EXPECT_EQ(error_of(nic.reserve_pids(other, 1, 505, 10)), EEXIST) << "there are 511";
  EXPECT_EQ(nic.reserve_pids(group, 1, kPidAnyValue, 10).value(), 10U);
  EXPECT_EQ(error_of(nic.make_domain(other, 1, 10)), EEXIST);
  EXPECT_EQ(nic.make_domain(other, 1, kPidAnyValue).value().pid, 20U);
  EXPECT_TRUE(nic.make_domain(other, 2, 10)) << "another VNI";
  const auto mine = nic.make_domain(group, 1, 10).value();
  EXPECT_TRUE(nic.drop_domain(mine.key));
  EXPECT_TRUE(nic.make_domain(other, 1, 10)) << "the domain gave its PID back";
  EXPECT_TRUE(nic.drop_group(group));
  EXPECT_EQ(nic.reserve_pids(other, 1, 11, 9).value(), 11U);
}

TEST(SoftNic, DomainsAreTakenOnce) {
  Nic nic({.address = 1});
  const unsigned group = nic.make_group(1).value();
  const auto seven = nic.make_domain(group, 255, 7).value();
  EXPECT_EQ(error_of(nic.make_domain(group, 255, 7)), EEXIST);
  EXPECT_TRUE(nic.make_domain(group, 256, 7)) << "another VNI never sees it";
  EXPECT_EQ(error_of(nic.make_domain(group, 255, 512)), EINVAL);
  EXPECT_EQ(nic.make_domain(group, 255, kPidAnyValue).value().pid, 0U);
  EXPECT_TRUE(nic.drop_domain(seven.key));
  EXPECT_EQ(error_of(nic.drop_domain(seven.key)), EINVAL);
  for (unsigned i = 1; i < kPidAnyValue; ++i)
    EXPECT_EQ(nic.make_domain(group, 255, kPidAnyValue).value().pid, i);
  EXPECT_EQ(error_of(nic.make_domain(group, 255, kPidAnyValue)), ENOSPC);
}

TEST(SoftNic, EventQueuesLieInTheirMapping) {
  Nic nic({.address = 1, .limits = few()});
  const unsigned group = nic.make_group(1).value();
  Arena arena(5 * 4096);
  const unsigned mapping = nic.map(group, arena.data(), 3 * 4096, true, true).value();
  const auto make = [&](std::size_t offset, std::size_t bytes) {
    return nic.make_event_queue(group, mapping, {.memory = arena.data() + offset, .bytes = bytes});
  };
  EXPECT_EQ(error_of(make(0, 4 * 4096)), EINVAL);
  EXPECT_EQ(error_of(make(64, 4096)), EINVAL);
  EXPECT_EQ(error_of(make(0, 4000)), EINVAL);
  EXPECT_EQ(error_of(make(0, 0)), EINVAL);
  EXPECT_EQ(error_of(make(3 * 4096, 4096)), EINVAL);
  for (unsigned i = 1; i < 4; ++i)
    EXPECT_EQ(make((i - 1) * 4096, 4096).value(), i);
  EXPECT_EQ(error_of(make(0, 4096)), ENOSPC);
  EXPECT_EQ(error_of(nic.unmap(mapping)), EBUSY);
  EXPECT_EQ(error_of(nic.adjust_reserved(1, 16384)), EINVAL);
  EXPECT_EQ(error_of(nic.adjust_reserved(1, 64)), ENOSPC);
  EXPECT_EQ(nic.adjust_reserved(1, 10).value(), 10U);
  EXPECT_EQ(nic.adjust_reserved(1, -1).value(), 9U);
  EXPECT_EQ(nic.adjust_reserved(1, 54).value(), 63U);
  EXPECT_EQ(error_of(nic.adjust_reserved(1, -64)), EINVAL);
  for (unsigned i = 1; i < 4; ++i)
    EXPECT_TRUE(nic.drop_event_queue(i));
  EXPECT_TRUE(nic.unmap(mapping));
}

TEST(SoftNic, QueuesAndPortalsRunOut) {
  Nic nic({.address = 1, .limits = few()});
  const unsigned group = nic.make_group(1).value();
  EXPECT_EQ(error_of(nic.make_command_queue(group, {.slots = 64, .transmit = true})), EINVAL)
      << "no such lcid";
  ASSERT_TRUE(nic.make_profile(group, 255, 1));
  EXPECT_EQ(error_of(nic.make_command_queue(group, {.slots = 65537, .transmit = true})), E2BIG);
  for (unsigned i = 0; i < 2; ++i)
    EXPECT_EQ(nic.make_command_queue(group, {.slots = 65, .transmit = true}).value(), i);
  EXPECT_EQ(nic.command_queue(0)->slots(), 128U) << "whole pages";
  EXPECT_TRUE(nic.drop_command_queue(1));
  EXPECT_EQ(nic.make_command_queue(group, {.slots = 0, .transmit = true}).value(), 1U);
  EXPECT_EQ(nic.command_queue(1)->slots(), 64U) << "at least a page";
  EXPECT_TRUE(nic.drop_command_queue(1));
  EXPECT_EQ(nic.make_command_queue(group, {.slots = 129, .transmit = true}).value(), 1U);
  EXPECT_EQ(nic.command_queue(1)->slots(), 256U) << "a power of two of pages";
  EXPECT_EQ(error_of(nic.make_command_queue(group, {.slots = 64, .transmit = true})), ENOSPC);
  EXPECT_EQ(error_of(nic.drop_profile(group, 0)), EBUSY);
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(nic.make_command_queue(group, {.slots = 64}).value(), 1024 + i);
  EXPECT_EQ(error_of(nic.make_command_queue(group, {.slots = 64})), ENOSPC);
  for (unsigned i = 1; i < 5; ++i)
    EXPECT_EQ(nic.make_portal(group, 0, {}).value(), i) << "0 is not handed out";
  EXPECT_EQ(error_of(nic.make_portal(group, 0, {})), ENOSPC);
  for (unsigned i = 1; i < 3; ++i)
    EXPECT_EQ(nic.make_counter(group, nullptr).value(), i);
  EXPECT_EQ(error_of(nic.make_counter(group, nullptr)), ENOSPC);
}

TEST(SoftNic, PortalsAreMappedOnce) {
  Nic nic({.address = 1});
  const unsigned group = nic.make_group(1).value();
  const auto domain = nic.make_domain(group, 255, 1).value();
  const unsigned portal = nic.make_portal(group, 0, {}).value();
  EXPECT_TRUE(nic.map_portal(portal, domain.key, 3));
  EXPECT_EQ(error_of(nic.map_portal(portal, domain.key, 3)), EEXIST);
  EXPECT_EQ(error_of(nic.map_portal(portal, domain.key, 256)), EINVAL);
  EXPECT_TRUE(nic.map_portal(portal, domain.key, 131));
  EXPECT_EQ(error_of(nic.drop_portal(portal)), EBUSY);
  EXPECT_EQ(error_of(nic.drop_domain(domain.key)), EBUSY);
  EXPECT_TRUE(nic.unmap_portal(domain.key, 3));
  EXPECT_EQ(error_of(nic.unmap_portal(domain.key, 3)), EINVAL);
  EXPECT_TRUE(nic.unmap_portal(domain.key, 131));
  EXPECT_TRUE(nic.drop_portal(portal));
}

TEST(SoftMemory, AddressesOfTheDeviceAreItsOwn) {
  AddressSpace space(Random(1));
  Arena arena(4 * 4096);
  const auto place = space.add(arena.data() + 100, 1000, {.read = true});
  EXPECT_NE(place.iova, reinterpret_cast<std::uintptr_t>(arena.data() + 100));
  EXPECT_EQ(place.iova % 4096, 100U);
  const auto code = [&](std::uint64_t iova, std::uint64_t length, Access access) {
    return space.translate(place.lac, iova, length, access).code;
  };
  EXPECT_EQ(space.translate(place.lac, place.iova + 10, 990, Access::kRead).memory,
            arena.data() + 110);
  EXPECT_EQ(code(place.iova, 1001, Access::kRead), ReturnCode::kNoTranslation);
  EXPECT_EQ(code(place.iova - 1, 1, Access::kRead), ReturnCode::kNoTranslation);
  EXPECT_EQ(code(place.iova + 1000, 1, Access::kRead), ReturnCode::kNoTranslation);
  EXPECT_EQ(code(place.iova, 1, Access::kWrite), ReturnCode::kPagePermError);
  EXPECT_EQ(space.translate((place.lac + 1) % 8, place.iova, 1, Access::kRead).code,
            ReturnCode::kInvalidAc);
  EXPECT_EQ(code(0, 0, Access::kRead), ReturnCode::kOk) << "nothing is nowhere";
  space.remove(place.lac, place.iova);
  EXPECT_NE(code(place.iova, 1, Access::kRead), ReturnCode::kOk);
}

TEST(SoftMemory, ManyMappingsFindTheirOwn) {
  AddressSpace space(Random(2));
  Arena arena(64 * 4096);
  std::vector<AddressSpace::Place> places;
  for (unsigned i = 0; i < 64; ++i)
    places.push_back(
        space.add(arena.data() + std::size_t{i} * 4096, 4096, {.read = true, .write = true}));
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(space.translate(places[i].lac, places[i].iova, 4096, Access::kWrite).memory,
                arena.data() + std::size_t{i} * 4096);
  }
  EXPECT_LE(space.contexts(), kAddressContextsPerGroup);
}

}  // namespace
}  // namespace plnet::cassini::soft::nic_test
