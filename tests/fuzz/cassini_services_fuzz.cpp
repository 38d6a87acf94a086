// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as calls of administrators and of other processes on the services of a NIC. Limits hold
// after each call, and no VNI is in two services.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/net/cassini/soft/nic.hpp"
#include "lib/base/check.hpp"
#include "tests/fuzz/script.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kIds = 6;
constexpr unsigned kVnis = 40;

Limits few() {
  Limits limits;
  limits.transmit_queues = limits.target_queues = 6;
  limits.event_queues = limits.portals = limits.counters = 7;
  limits.list_entries = 32;
  limits.triggered = 40;
  limits.resource_groups = 4;
  return limits;
}

class Calls {
 public:
  explicit Calls(fuzz::Script script)
      : script_(script), nic_({.address = 1, .limits = few(), .services = {first()}}) {}

  void run() {
    while (!script_.empty()) {
      switch (script_.below(12)) {
        case 0: add(); break;
        case 1: (void)services().remove(id()); break;
        case 2: (void)services().update(description()); break;
        case 3: (void)services().enable(id(), script_.below(2) != 0); break;
        case 4: (void)services().set_range(id(), {vni(), vni()}); break;
        case 5: (void)services().set_exclusive(id(), script_.below(2) != 0); break;
        case 6: (void)services().set_groups_per_id(id(), script_.below(10)); break;
        case 7: (void)services().set_network(id(), script_.below(3)); break;
        case 8: (void)nic_.make_group(id(), caller()); break;
        case 9: (void)nic_.drop_group(group()); break;
        case 10: make(); break;
        case 11: drop(); break;
      }
      check();
    }
  }

 private:
  static Service first() {
    Service service{.id = kDefaultService, .vnis = {1, 10}};
    service.any_vni = false;
    service.restricts_resources = true;
    service.shares[static_cast<unsigned>(Resource::kTriggered)] = {.most = 8, .kept = 8};
    return service;
  }
  Services& services() { return nic_.services(); }
  unsigned id() { return script_.below(kIds); }
  unsigned group() { return script_.below(20); }
  std::uint16_t vni() { return static_cast<std::uint16_t>(script_.below(kVnis)); }
  Caller caller() {
    return {.user = script_.below(2), .group = script_.below(2), .network = script_.below(2)};
  }
  Service description() {
    Service one{.id = id(), .vnis = {}};
    const unsigned bits = script_.byte();
    one.any_vni = false;
    one.enabled = (bits & 1U) != 0;
    one.restricts_members = (bits & 2U) != 0;
    one.restricts_resources = (bits & 4U) != 0;
    for (unsigned i = 0; i < bits >> 5U; ++i)
      one.vnis.push_back(vni());
    for (Member& member : one.members)
      member = {static_cast<Member::Kind>(script_.below(3)), script_.below(2)};
    for (Share& share : one.shares)
      if (one.restricts_resources) share = {.most = script_.below(9), .kept = script_.below(5)};
    return one;
  }
  void add() {
    Shortage shortage;
    (void)services().add(description(), shortage);
  }
  void make() {
    switch (script_.below(6)) {
      case 0:
        (void)nic_.make_profile(group(), vni(), script_.below(5), {.caller = caller()});
        break;
      case 1: (void)nic_.make_domain(group(), vni(), script_.below(4), caller()); break;
      case 2:
        (void)nic_.reserve_pids(group(), vni(), script_.number<std::uint16_t>(), script_.below(5),
                                caller());
        break;
      case 3: (void)nic_.make_portal(group(), 0, {}); break;
      case 4: (void)nic_.make_counter(group(), nullptr); break;
      case 5:
        (void)nic_.make_command_queue(
            group(), {.slots = 64, .transmit = script_.below(2) != 0, .lcid = script_.below(3)});
        break;
    }
  }
  void drop() {
    switch (script_.below(5)) {
      case 0: (void)nic_.drop_profile(group(), script_.below(17)); break;
      case 1: (void)nic_.drop_domain(Tables::domain_key(vni(), script_.below(4))); break;
      case 2: (void)nic_.drop_portal(script_.below(8)); break;
      case 3: (void)nic_.drop_counter(script_.below(8)); break;
      case 4:
        (void)nic_.drop_command_queue(script_.below(2) * kFirstTargetQueue + script_.below(6));
        break;
    }
  }
  void check() {
    const Resources& resources = nic_.resources();
    const std::vector<unsigned> rows = services().rows();
    for (unsigned i = 0; i < kResources; ++i) {
      const auto what = static_cast<Resource>(i);
      unsigned claimed = 0;
      for (const unsigned row : rows) {
        const Share share = resources.share(row, what);
        const unsigned used = resources.used(row, what);
        PLNET_CHECK(used <= share.most, "no service has more than its maximum");
        claimed += std::max(used, share.kept);
      }
      PLNET_CHECK(claimed <= resources.total(what), "what is kept for a service is there");
    }
    for (unsigned one = 1; one < kVnis; ++one) {
      const auto has = [&](unsigned row) { return services().at(row).has_vni(one); };
      PLNET_CHECK(std::ranges::count_if(rows, has) <= 1, "a VNI belongs to one service");
    }
  }

  fuzz::Script script_;
  Nic nic_;
};

}  // namespace
}  // namespace plnet::cassini::soft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::cassini::soft::Calls({data, size}).run();
  return 0;
}
