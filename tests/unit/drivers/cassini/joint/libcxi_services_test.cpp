// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for services, profiles and domains, counters, and hardware that is not there.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <unistd.h>

#include "drivers/net/cassini/soft/libcxi_caller.hpp"
#include "drivers/net/cassini/soft/services.hpp"
#include "tests/unit/drivers/cassini/joint/libcxi_process.hpp"

namespace plnet::cassini::libcxi::libcxi_services_test {
namespace {

constexpr unsigned kBestEffort = 3;
constexpr unsigned kLimitOf(soft::Resource what) {
  return static_cast<unsigned>(what);
}

struct LibcxiServices : LibcxiProcess {
  LibcxiServices() : LibcxiProcess(PLNET_CXI_SOFT) {}
  int add(const Service& service, ServiceFailure* failure = nullptr) {
    return PLNET_CALL(library, cxil_alloc_svc)(device, &service, failure);
  }
  int remove(int service) {
    return PLNET_CALL(library, cxil_destroy_svc)(device, static_cast<unsigned>(service));
  }
  int enable(int service, bool on) {
    return PLNET_CALL(library, cxil_svc_enable)(device, static_cast<unsigned>(service), on);
  }
  int open(int service, Lni*& opened) {
    return PLNET_CALL(library, cxil_alloc_lni)(device, &opened, static_cast<unsigned>(service));
  }
  void close(Lni* opened) { EXPECT_EQ(PLNET_CALL(library, cxil_destroy_lni)(opened), 0); }
  int domain(Lni* of, unsigned vni) {
    Domain* made = nullptr;
    const int result = PLNET_CALL(library, cxil_alloc_domain)(of, vni, 10U, &made);
    if (result == 0) {
      EXPECT_EQ(PLNET_CALL(library, cxil_destroy_domain)(made), 0);
    }
    return result;
  }
};

struct LibcxiAdministrator : LibcxiServices {
  void SetUp() override {
    if (!soft::is_administrator()) GTEST_SKIP() << "only an administrator makes services";
  }
};

TEST_F(LibcxiAdministrator, ServiceLimitsVnisAndClasses) {
  Service wanted{.flags = kRestrictedVnis | kRestrictedTrafficClasses, .vni_count = 2};
  wanted.vnis[0] = 8;
  wanted.vnis[1] = 9;
  wanted.traffic_classes[kBestEffort] = true;
  const int service = add(wanted);
  ASSERT_GT(service, 1);
  EXPECT_EQ(add(wanted), -EEXIST) << "a VNI belongs to one service";
  Service shown{};
  EXPECT_EQ(PLNET_CALL(library, cxil_get_svc)(device, static_cast<unsigned>(service), &shown), 0);
  EXPECT_EQ(shown.flags, wanted.flags | kServiceEnabled);
  EXPECT_EQ(shown.vnis[1], 9);
  Lni* group = nullptr;
  ASSERT_EQ(open(service, group), 0);
  EXPECT_EQ(domain(group, 8), 0);
  EXPECT_EQ(domain(group, 7), 0) << "the default service has it";
  EXPECT_EQ(PLNET_CALL(library, cxil_reserve_domain)(group, 7U, 100U, 1U), 100) << "likewise";
  Profile* profile = nullptr;
  const auto profile_of = [&](unsigned vni, unsigned traffic_class) {
    return PLNET_CALL(library, cxil_alloc_cp)(group, vni, traffic_class, 0U, &profile);
  };
  EXPECT_EQ(profile_of(8, 0), -EINVAL) << "not a class of the service";
  EXPECT_EQ(profile_of(8, 8), -EINVAL) << "no such class";
  EXPECT_EQ(profile_of(8, 4), -EINVAL) << "Ethernet has priorities up to 7";
  EXPECT_EQ(profile_of(7, 4), -EPERM) << "there is no Ethernet";
  ASSERT_EQ(profile_of(9, kBestEffort), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_modify_cp)(group, profile, 8U), -EINVAL) << "not exclusive";
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_cp)(profile), 0);
  EXPECT_EQ(remove(service), -EBUSY);
  EXPECT_EQ(enable(service, false), -EBUSY);
  close(group);
  EXPECT_EQ(enable(service, false), 0);
  EXPECT_EQ(open(service, group), -EKEYREVOKED);
  EXPECT_EQ(remove(service), 0);
  EXPECT_EQ(remove(service), -EINVAL);
  EXPECT_EQ(remove(1), -EINVAL) << "the default service stays";
  EXPECT_EQ(remove(0), -EINVAL);
}

TEST_F(LibcxiAdministrator, ServiceLimitsResources) {
  Service wanted{.flags = kResourceLimits | kRestrictedVnis, .vni_count = 1};
  wanted.vnis[0] = 11;
  constexpr unsigned kQueues = kLimitOf(soft::Resource::kTargetQueues);
  wanted.limits[kQueues] = {.most = 1, .kept = 2};
  EXPECT_EQ(add(wanted), -EINVAL) << "more kept than it may have";
  wanted.limits[kQueues] = {.most = 513, .kept = 0};
  EXPECT_EQ(add(wanted), -EINVAL) << "more than there is";
  wanted.limits[kQueues] = {.most = 512, .kept = 512};
  const int all = add(wanted);
  ASSERT_GT(all, 1);
  ServiceFailure failure{};
  wanted.vnis[0] = 12;
  wanted.limits[kQueues] = {.most = 1, .kept = 1};
  EXPECT_EQ(add(wanted, &failure), -ENOSPC);
  EXPECT_EQ(failure.available[kQueues], 0);
  EXPECT_EQ(remove(all), 0);
  const int service = add(wanted);
  ASSERT_GT(service, 1);
  Lni* group = nullptr;
  ASSERT_EQ(open(service, group), 0);
  const CommandQueueOptions options{.slots = 64};
  std::array<CommandQueue*, 2> queues{};
  const auto make = [&](unsigned number) {
    return PLNET_CALL(library, cxil_alloc_cmdq)(group, nullptr, &options, &queues[number]);
  };
  EXPECT_EQ(make(0), 0);
  EXPECT_EQ(make(1), -ENOSPC);
  ResourceUseList* list = nullptr;
  ASSERT_EQ(PLNET_CALL(library, cxil_get_svc_rsrc_list)(device, &list), 0);
  EXPECT_EQ(list->count, 2U);
  ResourceUse second{};
  std::memcpy(&second, reinterpret_cast<std::byte*>(list) + kResourceUseListHead + sizeof second,
              sizeof second);
  EXPECT_EQ(second.service, static_cast<unsigned>(service));
  EXPECT_EQ(second.in_use[kQueues], 1);
  PLNET_CALL(library, cxil_free_svc_rsrc_list)(list);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_cmdq)(queues[0]), 0);
  close(group);
  EXPECT_EQ(remove(service), 0);
}

TEST_F(LibcxiAdministrator, ServiceOfOthersIsClosed) {
  Service wanted{.flags = kRestrictedMembers | kRestrictedVnis, .vni_count = 1};
  wanted.vnis[0] = 13;
  wanted.members[0] = {.id = geteuid() + 1, .kind = kUserMember};
  const int others = add(wanted);
  ASSERT_GT(others, 1);
  Lni* group = nullptr;
  EXPECT_EQ(open(others, group), -EPERM);
  wanted.id = static_cast<unsigned>(others);
  wanted.flags |= kServiceEnabled;
  wanted.members[1] = {.id = getegid(), .kind = kGroupMember};
  EXPECT_EQ(PLNET_CALL(library, cxil_update_svc)(device, &wanted, nullptr), 0);
  ASSERT_EQ(open(others, group), 0);
  close(group);
  unsigned network = 0;
  const auto set_network = [&](unsigned number) {
    return PLNET_CALL(library, cxil_svc_set_netns)(device, wanted.id, number);
  };
  EXPECT_EQ(set_network(5), -EEXIST) << "it has members already";
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_get_netns)(device, wanted.id, &network), -EINVAL);
  wanted.members[0] = wanted.members[1] = {.id = 0, .kind = kNoMember};
  EXPECT_EQ(PLNET_CALL(library, cxil_update_svc)(device, &wanted, nullptr), 0);
  EXPECT_EQ(open(others, group), -EPERM) << "there is no member";
  EXPECT_EQ(set_network(5), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_get_netns)(device, wanted.id, &network), 0);
  EXPECT_EQ(network, 5U);
  EXPECT_EQ(open(others, group), -EPERM);
  EXPECT_EQ(set_network(soft::caller().network), 0);
  ASSERT_EQ(open(others, group), 0);
  close(group);
  EXPECT_EQ(remove(others), 0);
}

TEST_F(LibcxiAdministrator, ServiceHasARangeOfVnis) {
  const int service = add({});
  ASSERT_GT(service, 1);
  const auto id = static_cast<unsigned>(service);
  Lni* group = nullptr;
  EXPECT_EQ(open(service, group), -EKEYREVOKED) << "it waits for its VNIs";
  const auto set = [&](unsigned first, unsigned last) {
    return PLNET_CALL(library, cxil_svc_set_vni_range)(
        device, id, static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last));
  };
  bool exclusive = false;
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_set_exclusive_cp)(device, id, true), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_get_exclusive_cp)(device, id, &exclusive), -ENOENT);
  EXPECT_EQ(set(32, 95), -EINVAL) << "not at a multiple of its size";
  EXPECT_EQ(set(64, 66), -EINVAL) << "not a power of two";
  EXPECT_EQ(set(0, 15), -EINVAL) << "VNI 0";
  ASSERT_EQ(set(64, 127), 0);
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_get_vni_range)(device, id, &first, &last), 0);
  EXPECT_EQ(first, 64);
  EXPECT_EQ(last, 127);
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_get_vni_range)(device, 1U, &first, &last), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_set_exclusive_cp)(device, id, true), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_get_exclusive_cp)(device, id, &exclusive), 0);
  EXPECT_TRUE(exclusive);
  EXPECT_EQ(PLNET_CALL(library, cxil_set_svc_lpr)(device, id, 9U), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_set_svc_lpr)(device, id, 2U), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_get_svc_lpr)(device, id), 2);
  EXPECT_EQ(enable(service, true), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_svc_set_exclusive_cp)(device, id, false), -EBUSY);
  ASSERT_EQ(open(service, group), 0);
  EXPECT_EQ(domain(group, 127), 0);
  EXPECT_EQ(domain(group, 0), -EINVAL);
  Profile* profile = nullptr;
  ASSERT_EQ(PLNET_CALL(library, cxil_alloc_cp)(group, 64U, kBestEffort, 0U, &profile), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_modify_cp)(group, profile, 65U), 0);
  EXPECT_EQ(profile->vni_pcp, 65U);
  EXPECT_EQ(PLNET_CALL(library, cxil_modify_cp)(group, profile, 128U), 0)
      << "the default service's";
  EXPECT_EQ(PLNET_CALL(library, cxil_modify_cp)(group, profile, 0U), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_modify_cp)(group, profile, 65536U), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_cp)(profile), 0);
  close(group);
  EXPECT_EQ(remove(service), 0);
}

// Sixteen pools of list entries, of which the default service has one.
TEST_F(LibcxiAdministrator, PoolsOfListEntriesRunOut) {
  Service wanted{.flags = kResourceLimits};
  wanted.limits[kLimitOf(soft::Resource::kListEntries)] = {.most = 100, .kept = 10};
  std::vector<int> made;
  ServiceFailure failure{};
  for (;;) {
    const int service = add(wanted, &failure);
    if (service < 0) {
      EXPECT_EQ(service, -ENOSPC);
      break;
    }
    made.push_back(service);
    ASSERT_LT(made.size(), soft::Services::kServicesMax);
  }
  EXPECT_EQ(made.size(), soft::Services::kEntryPools - 1);
  EXPECT_TRUE(failure.no_entry_pools);
  for (const int service : made)
    EXPECT_EQ(remove(service), 0);
}

TEST_F(LibcxiServices, DomainsAreReserved) {
  const auto reserve = [&](unsigned pid, unsigned count) {
    return PLNET_CALL(library, cxil_reserve_domain)(lni, 1U, pid, count);
  };
  EXPECT_EQ(reserve(0, 0), -EINVAL);
  EXPECT_EQ(reserve(100, 10), 100) << "the first of them";
  EXPECT_EQ(reserve(105, 1), -EEXIST);
  EXPECT_EQ(PLNET_CALL(library, cxil_reserve_domain)(nullptr, 1U, 0U, 1U), -EINVAL);
}

TEST_F(LibcxiServices, CountersOfTheDevice) {
  const auto read = [&](unsigned number, std::uint64_t* value) {
    return PLNET_CALL(library, cxil_read_cntr)(device, number, value, nullptr);
  };
  constexpr unsigned kSuccess = 481;  // commands of target queues
  std::uint64_t before = 0;
  EXPECT_EQ(read(kSuccess, &before), 0);
  EXPECT_EQ(read(kSuccess, nullptr), -EINVAL);
  EXPECT_EQ(read(158, &before), -EINVAL) << "a number that is not used";
  EXPECT_EQ(read(kCounterIds, &before), -EINVAL);
  std::vector<std::uint64_t> all(kCounterIds, ~std::uint64_t{0});
  timespec time{.tv_sec = -1, .tv_nsec = -1};
  EXPECT_EQ(PLNET_CALL(library, cxil_read_all_cntrs)(device, all.data(), &time), 0);
  EXPECT_GE(all[kSuccess], before);
  EXPECT_EQ(all[158], 0U);
  EXPECT_GE(time.tv_nsec, 0);
  const unsigned numbers[]{992, kSuccess};
  std::uint64_t two[2]{};
  EXPECT_EQ(PLNET_CALL(library, cxil_read_n_cntrs)(device, 2U, numbers, two, nullptr), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_read_n_cntrs)(device, 0U, numbers, two, nullptr), -EINVAL);
  EXPECT_EQ(
      PLNET_CALL(library, cxil_read_n_cntrs)(device, kCountersRead + 1, numbers, two, nullptr),
      -EINVAL);
}

TEST_F(LibcxiServices, CountingEventsHaveDoorbells) {
  alignas(8) std::uint64_t values[2]{};
  CountingEvent* counter = nullptr;
  const auto make = [&](void* writeback) {
    return PLNET_CALL(library, cxil_alloc_ct)(lni, writeback, &counter);
  };
  EXPECT_EQ(make(reinterpret_cast<std::byte*>(values) + 1), -EINVAL) << "not aligned";
  EXPECT_EQ(make(reinterpret_cast<void*>(kPage)), -EFAULT) << "no memory";
  ASSERT_EQ(make(values), 0);
  const auto ring = [&](std::size_t offset, std::uint64_t value) {
    std::atomic_ref(counter->doorbell[offset / sizeof value]).store(value);
  };
  constexpr std::uint64_t kWritten = std::uint64_t{1} << 63U;
  const auto wait = [](std::uint64_t& word) {
    std::uint64_t seen = 0;
    while (((seen = std::atomic_ref(word).load()) & kWritten) == 0)
      std::this_thread::yield();
    std::atomic_ref(word).store(0);
    return seen & ~kWritten;
  };
  constexpr std::size_t kSuccess = 0, kFailure = 64, kResetSuccess = 128, kResetFailure = 192;
  ring(kSuccess, 10);
  ring(kFailure, 3);
  EXPECT_EQ(wait(values[0]), 10U | std::uint64_t{3} << 48U) << "a failure is written back at once";
  ring(kResetFailure, 0);
  EXPECT_EQ(wait(values[0]), 10U);
  EXPECT_EQ(PLNET_CALL(library, cxil_ct_wb_update)(counter, nullptr), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_ct_wb_update)(counter, &values[1]), 0);
  ring(kResetSuccess, 0);
  EXPECT_EQ(wait(values[1]), 0U);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_ct)(counter), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_destroy_ct)(nullptr), -EINVAL);
}

TEST_F(LibcxiServices, HardwareIsRefused) {
  const int refused = soft::is_administrator() ? -EOPNOTSUPP : -EPERM;
  std::uint64_t value = 0;
  int operation = 0;
  const SbusRequest request{};
  EXPECT_EQ(PLNET_CALL(library, cxil_map_csr)(device), refused);
  EXPECT_EQ(PLNET_CALL(library, cxil_map_csr)(nullptr), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_read_csr)(device, 0U, &value, sizeof value), -EINVAL);
  EXPECT_EQ(PLNET_CALL(library, cxil_sbus_op)(device, &request, nullptr, nullptr, nullptr),
            refused);
  EXPECT_EQ(PLNET_CALL(library, cxil_sbus_op_reset)(device), refused);
  const auto passed = [&](unsigned flags) {
    return PLNET_CALL(library, cxil_sbus_op_compat)(device, 0, 0U, std::uint8_t{0}, std::uint8_t{0},
                                                    std::uint8_t{0}, nullptr, nullptr, nullptr, 0,
                                                    flags);
  };
  constexpr unsigned kDelay = 1U << 0U, kInterval = 1U << 7U;
  EXPECT_EQ(passed(kDelay), -EINVAL);
  EXPECT_EQ(passed(kInterval), -EINVAL);
  EXPECT_EQ(passed(kDelay | kInterval), refused);
  EXPECT_EQ(PLNET_CALL(library, cxil_get_telemetry)(), -EOPNOTSUPP);
  EXPECT_EQ(PLNET_CALL(library, cxil_inbound_wait)(device), 0);
  EXPECT_EQ(PLNET_CALL(library, cxil_get_amo_remap_to_pcie_fadd)(device, &operation), 0);
  EXPECT_EQ(operation, -1);
  EXPECT_TRUE(PLNET_CALL(library, cxil_is_copy_on_fork)());
  EXPECT_EQ(PLNET_CALL(library, cxil_page_size)(&value), kPage);
  Device* other = nullptr;
  EXPECT_EQ(PLNET_CALL(library, cxil_open_device)(100U, &other), -ENOENT);
  EXPECT_EQ(PLNET_CALL(library, cxil_alloc_lni)(device, &lni, 0U), -EINVAL);
}

}  // namespace
}  // namespace plnet::cassini::libcxi::libcxi_services_test
