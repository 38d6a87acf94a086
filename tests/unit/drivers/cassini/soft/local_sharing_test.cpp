// SPDX-License-Identifier: BSD-3-Clause
// Processes that share a NIC of one host have the same services, limits and counters.
#include "drivers/net/cassini/soft/local_sharing.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/driver_counters.hpp"
#include "drivers/net/cassini/soft/nic.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft::local_sharing_test {
namespace {

constexpr unsigned kNone = 0;
constexpr int kPatienceMs = 50;

struct Folder {
  Folder() {
    std::string name = "/tmp/plnet-sharing-XXXXXX";
    path = std::string(::mkdtemp(name.data()));
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file() const { return path + LocalSharing::file_name(0x2b0); }
  std::string path;
};

std::vector<Service> only_default() {
  return {Service{.id = kDefaultService, .vnis = {1}}};
}

Service wanted(std::uint16_t vni, Resource what = Resource::kPortals, Share share = {.most = 16}) {
  Service one{.vnis = {vni}};
  one.any_vni = false;
  one.restricts_resources = true;
  for (Share& each : one.shares)
    each.most = 16;
  one.shares[static_cast<unsigned>(what)] = share;
  return one;
}

// A process with its model of the NIC.
struct Process {
  explicit Process(const Folder& folder, std::vector<Service> first = only_default())
      : sharing(open(folder, first)), nic({.address = 0x2b0, .services = std::move(first)}) {
    nic.share(sharing.get());
  }
  static std::unique_ptr<LocalSharing> open(const Folder& folder,
                                            const std::vector<Service>& first) {
    auto made = LocalSharing::open(folder.file(), first, kPatienceMs);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    return made ? std::move(*made) : nullptr;
  }
  unsigned add(const Service& service) {
    Shortage shortage;
    const auto id = nic.services().add(service, shortage);
    EXPECT_TRUE(id) << id.error();
    return id.value_or(kNone);
  }
  std::unique_ptr<LocalSharing> sharing;
  Nic nic;
};

int error_of(const Made<void>& made) {
  return made ? 0 : made.error();
}

TEST(SoftSharing, FileIsNamedAfterTheAddress) {
  EXPECT_EQ(LocalSharing::file_name(0x2b0), "/nic-002b0.services");
}

TEST(SoftSharing, ServiceOfOneProcessIsThereForAll) {
  const Folder folder;
  Process first(folder), second(folder);
  Service all = wanted(50);
  all.vnis = {50, 51};
  all.traffic_classes = 0b1010;
  all.restricts_members = true;
  all.members[1] = {Member::Kind::kGroup, 77};
  all.counter_pool = 3;
  all.groups_per_id = 4;
  all.is_system = true;
  const unsigned id = first.add(all);
  const auto row = second.nic.services().row_of(id);
  ASSERT_TRUE(row);
  const Service& seen = second.nic.services().at(*row);
  EXPECT_EQ(seen.vnis, all.vnis);
  EXPECT_EQ(seen.traffic_classes, 0b1010U);
  EXPECT_TRUE(seen.enabled && seen.restricts_members && seen.restricts_resources && seen.is_system);
  EXPECT_FALSE(seen.any_vni || seen.restricts_classes || seen.exclusive_profiles);
  EXPECT_EQ(seen.members[1].kind, Member::Kind::kGroup);
  EXPECT_EQ(seen.members[1].id, 77U);
  EXPECT_EQ(seen.counter_pool, 3U);
  EXPECT_EQ(seen.groups_per_id, 4U);
  EXPECT_EQ(seen.shares[1].most, 16U);
  Shortage shortage;
  EXPECT_EQ(second.nic.services().add(wanted(51), shortage).error(), EEXIST);
}

TEST(SoftSharing, ChangesOfServices) {
  const Folder folder;
  Process first(folder), second(folder);
  Service open{.vnis = {}};
  open.any_vni = false;
  open.restricts_members = true;
  const unsigned id = first.add(open);
  Services& here = first.nic.services();
  Services& there = second.nic.services();
  const auto seen = [&]() -> const Service& { return here.at(here.row_of(id).value()); };
  EXPECT_TRUE(there.enable(id, false));
  EXPECT_TRUE(there.set_range(id, {.first = 16, .last = 31}));
  EXPECT_TRUE(there.set_exclusive(id, true));
  EXPECT_TRUE(there.set_groups_per_id(id, 2));
  EXPECT_TRUE(there.set_network(id, 4711));
  EXPECT_FALSE(seen().enabled);
  EXPECT_TRUE(seen().has_vni(31) && !seen().has_vni(32));
  EXPECT_TRUE(seen().exclusive_profiles);
  EXPECT_EQ(seen().groups_per_id, 2U);
  EXPECT_EQ(seen().network, 4711U);
  Service next = seen();
  next.enabled = true;
  EXPECT_TRUE(here.update(next));
  EXPECT_TRUE(there.at(there.row_of(id).value()).enabled);
  EXPECT_TRUE(here.remove(id));
  EXPECT_FALSE(there.row_of(id));
  EXPECT_EQ(there.rows().size(), 1U);
}

TEST(SoftSharing, ServiceIsBusyWithTheLniOfAnyProcess) {
  const Folder folder;
  Process first(folder), second(folder);
  const unsigned id = first.add(wanted(50));
  const unsigned group = second.nic.make_group(id).value();
  EXPECT_EQ(error_of(first.nic.services().remove(id)), EBUSY);
  EXPECT_EQ(error_of(first.nic.services().enable(id, false)), EBUSY);
  EXPECT_TRUE(second.nic.make_domain(group, 50, 5));
  ASSERT_TRUE(second.nic.drop_domain(Tables::domain_key(50, 5)));
  ASSERT_TRUE(second.nic.drop_group(group));
  EXPECT_TRUE(first.nic.services().enable(id, false));
  EXPECT_EQ(second.nic.make_group(id).error(), EKEYREVOKED);
  EXPECT_TRUE(first.nic.services().remove(id));
  EXPECT_EQ(second.nic.make_group(id).error(), EINVAL);
}

TEST(SoftSharing, LimitOfAServiceHoldsOverAllProcesses) {
  const Folder folder;
  Process first(folder), second(folder);
  const unsigned id = first.add(wanted(50, Resource::kPortals, {.most = 3}));
  const unsigned here = first.nic.make_group(id).value();
  const unsigned there = second.nic.make_group(id).value();
  const unsigned one = first.nic.make_portal(here, 0, {}).value();
  EXPECT_TRUE(first.nic.make_portal(here, 0, {}));
  EXPECT_TRUE(second.nic.make_portal(there, 0, {}));
  EXPECT_EQ(first.nic.make_portal(here, 0, {}).error(), ENOSPC);
  EXPECT_EQ(second.nic.make_portal(there, 0, {}).error(), ENOSPC);
  const unsigned row = second.nic.services().row_of(id).value();
  EXPECT_EQ(second.nic.resources().used(row, Resource::kPortals), 3U) << "of both";
  ASSERT_TRUE(first.nic.drop_portal(one));
  EXPECT_TRUE(second.nic.make_portal(there, 0, {}));
  EXPECT_EQ(first.nic.make_portal(here, 0, {}).error(), ENOSPC);
}

TEST(SoftSharing, ReservationHoldsOverAllProcesses) {
  const Folder folder;
  Process first(folder), second(folder);
  const unsigned group = second.nic.make_group(kDefaultService).value();
  for (unsigned i = 0; i < 100; ++i)
    ASSERT_TRUE(second.nic.make_portal(group, 0, {}));
  Shortage shortage;
  constexpr unsigned kAll = 2047;
  const Service all = wanted(50, Resource::kPortals, {.most = kAll, .kept = kAll});
  EXPECT_EQ(first.nic.services().add(all, shortage).error(), ENOSPC);
  EXPECT_EQ(shortage.available[0], kAll - 100);
  const unsigned id = first.add(wanted(50, Resource::kPortals, {.most = kAll, .kept = kAll - 101}));
  EXPECT_TRUE(second.nic.make_portal(group, 0, {})) << "the last one that is nobody's";
  EXPECT_EQ(second.nic.make_portal(group, 0, {}).error(), ENOSPC);
  EXPECT_TRUE(second.nic.make_portal(second.nic.make_group(id).value(), 0, {}));
}

TEST(SoftSharing, ServicesStayWhenNoProcessIsThere) {
  const Folder folder;
  unsigned id = kNone;
  {
    Process first(folder);
    id = first.add(wanted(50));
    EXPECT_TRUE(first.nic.make_group(id));
  }
  Process next(folder);
  EXPECT_TRUE(next.nic.make_group(id));
  Process other(folder, {Service{.id = kDefaultService, .vnis = {7}}});
  EXPECT_EQ(other.nic.services().at(0).vnis.front(), 1) << "a process has the NIC as it was";
}

TEST(SoftSharing, AnotherConfigurationStartsAnew) {
  const Folder folder;
  unsigned id = kNone;
  {
    Process first(folder);
    id = first.add(wanted(50));
  }
  Process next(folder, {Service{.id = kDefaultService, .vnis = {7}}});
  EXPECT_FALSE(next.nic.services().row_of(id));
  EXPECT_EQ(next.nic.services().at(0).vnis.front(), 7);
}

// A child that takes what `take` takes and waits to be killed.
template <class Take>
pid_t child_with(const Take& take) {
  std::array<int, 2> told{};
  EXPECT_EQ(::pipe(told.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const char word = take() ? 'y' : 'n';
    (void)!::write(told[1], &word, 1);
    for (;;)
      (void)::pause();
  }
  char word = 0;
  EXPECT_EQ(::read(told[0], &word, 1), 1);
  EXPECT_EQ(word, 'y');
  ::close(told[0]);
  ::close(told[1]);
  return child;
}

void kill_child(pid_t child) {
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
}

TEST(SoftSharing, KilledProcessGivesBack) {
  const Folder folder;
  Process first(folder);
  const unsigned id = first.add(wanted(50, Resource::kPortals, {.most = 2}));
  std::optional<Process> killed;
  const pid_t child = child_with([&] {
    killed.emplace(folder);
    const auto group = killed->nic.make_group(id);
    return group && killed->nic.make_portal(*group, 0, {}) &&
           killed->nic.make_portal(*group, 0, {});
  });
  const unsigned group = first.nic.make_group(id).value();
  EXPECT_EQ(first.nic.make_portal(group, 0, {}).error(), ENOSPC);
  ASSERT_TRUE(first.nic.drop_group(group));
  EXPECT_EQ(error_of(first.nic.services().remove(id)), EBUSY);
  kill_child(child);
  const unsigned again = first.nic.make_group(id).value();
  EXPECT_TRUE(first.nic.make_portal(again, 0, {}));
  const unsigned row = first.nic.services().row_of(id).value();
  EXPECT_EQ(first.nic.resources().used(row, Resource::kPortals), 1U);
  EXPECT_EQ(error_of(first.nic.services().remove(id)), EBUSY) << "its own LNI";
}

TEST(SoftSharing, CountersAreThoseOfTheNic) {
  const Folder folder;
  Process first(folder);
  constexpr unsigned kDelivered = static_cast<unsigned>(NicStats::Id::kDelivered);
  constexpr unsigned kNumber = 992;  // lpe_success_cntr
  const auto tell = [](Process& process, std::uint64_t count) {
    std::array<std::uint64_t, kDelivered + 1> counts{};
    counts[kDelivered] = count;
    process.sharing->tell_counters(counts);
  };
  first.nic.tables().stats.add(NicStats::Id::kDelivered, 5);
  {
    Process second(folder);
    tell(second, 10);
    EXPECT_EQ(driver_counter(first.nic, kNumber), 15U);
    tell(second, 20);
  }
  EXPECT_EQ(driver_counter(first.nic, kNumber), 25U) << "an ended process stays counted";
  Process third(folder);
  tell(first, 5);
  tell(third, 1);
  third.nic.tables().stats.add(NicStats::Id::kDelivered, 1);
  EXPECT_EQ(driver_counter(first.nic, kNumber), 26U) << "in the same slot";
  EXPECT_EQ(driver_counter(third.nic, kNumber), 26U);
}

TEST(SoftSharing, ResourceGroupsOfAllProcesses) {
  const Folder folder;
  Process first(folder), second(folder);
  EXPECT_EQ(first.nic.services().use_resource_groups(3), 3U);
  EXPECT_EQ(second.nic.services().use_resource_groups(4), 7U);
}

TEST(SoftSharing, NicHasAFewProcesses) {
  const Folder folder;
  std::vector<std::unique_ptr<LocalSharing>> all;
  for (unsigned i = 0; i < kSharesMax; ++i)
    all.push_back(Process::open(folder, only_default()));
  const auto further = LocalSharing::open(folder.file(), only_default());
  ASSERT_FALSE(further);
  EXPECT_EQ(further.error().code, Errc::kBusy);
  all[3].reset();
  EXPECT_TRUE(LocalSharing::open(folder.file(), only_default()));
}

// A process that never lets go of its turn.
TEST(SoftSharing, TurnThatDoesNotEnd) {
  const Folder folder;
  Process first(folder), second(folder);
  ASSERT_TRUE(first.sharing->lock());
  Shortage shortage;
  EXPECT_EQ(second.nic.services().add(wanted(50), shortage).error(), EAGAIN);
  EXPECT_EQ(second.nic.make_group(kDefaultService).error(), EAGAIN);
  const auto third = LocalSharing::open(folder.file(), only_default(), kPatienceMs);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Errc::kBusy);
  first.sharing->unlock();
  EXPECT_TRUE(second.nic.make_group(kDefaultService));
}

// Any bytes of another process: results differ, and nothing else happens.
TEST(SoftSharing, FileWithOtherBytes) {
  const Folder folder;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Process first(folder);
    const unsigned id = first.add(wanted(50));
    Random random(seed);
    std::FILE* const file = std::fopen(folder.file().c_str(), "r+e");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(std::fseek(file, 0, SEEK_END), 0);
    const long bytes = std::ftell(file);
    constexpr long kAfterMagic = 8;
    ASSERT_EQ(std::fseek(file, kAfterMagic, SEEK_SET), 0);
    for (long at = kAfterMagic; at < bytes; ++at)
      (void)std::fputc(static_cast<int>(random.below(256)), file);
    ASSERT_EQ(std::fclose(file), 0);
    Services& services = first.nic.services();
    for (const unsigned row : services.rows())
      EXPECT_NE(services.at(row).id, kNone);
    Shortage shortage;
    (void)services.add(wanted(51), shortage);
    (void)services.remove(id);
    const auto group = first.nic.make_group(id);
    if (group) (void)first.nic.make_portal(*group, 0, {});
    (void)driver_counter(first.nic, 992);
    (void)services.of_vni(51, {}, 0);
    if (group) (void)first.nic.drop_group(*group);
    std::filesystem::remove(folder.file());
  }
}

}  // namespace
}  // namespace plnet::cassini::soft::local_sharing_test
