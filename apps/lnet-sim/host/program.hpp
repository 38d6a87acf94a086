// SPDX-License-Identifier: BSD-3-Clause
// The program of a shard of a simulated node: attaches memory, puts, gets, unlinks at bad moments,
// and checks every event against the ledger.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "apps/lnet-sim/books/ledger.hpp"
#include "apps/lnet-sim/plan/site_config.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/api/data_operations.hpp"

namespace plnet::sim {

class Host;

class Program final : public lnet::EventHandler {
 public:
  static constexpr lnet::PortalId kWildcardPortal = 40;
  static constexpr lnet::PortalId kUniquePortal = 41;
  static constexpr lnet::PortalId kLazyPortal = 42;
  static constexpr lnet::PortalId kGetPortal = 43;
  static constexpr lnet::PortalId kManagedPortal = 44;
  static constexpr lnet::PortalId kAfterPortal = 45;
  static constexpr unsigned kWildcardEntries = 3;  // kept attached
  static constexpr unsigned kStripes = 4;          // of a remotely managed descriptor

  Program(Host& host, lnet::ShardId shard, unsigned operations, std::size_t records);
  ~Program() override;

  // Attaches the permanent entries and begins.
  void start(Instant now);
  // Does timed work. Returns the pieces of work.
  unsigned poll(Instant now);
  [[nodiscard]] Instant next_deadline() const {
    return due_.empty() ? Instant::max() : due_.front().at;
  }
  // Unlinks everything that is attached or bound.
  void unlink_all();
  // True for portals of programs.
  [[nodiscard]] static bool is_portal(std::uint32_t portal) {
    return portal >= kWildcardPortal && portal <= kAfterPortal;
  }
  // The operation of this descriptor; 0: none.
  [[nodiscard]] std::uint64_t operation_of(const lnet::MdHandle& md) const;
  [[nodiscard]] bool empty() const { return records_.free_count() == records_.capacity(); }
  [[nodiscard]] unsigned left() const { return left_; }

  void on_event(const lnet::Event& event) override;

  // For programs of other nodes: attaches an entry for this operation only, now or at that time.
  // False: no room.
  [[nodiscard]] bool attach_for(Operation& operation, const lnet::Nid& from, std::uint32_t room,
                                bool truncate);
  // The same, for the next stripe of an entry with several.
  [[nodiscard]] bool attach_stripe(Operation& operation);
  void attach_later(std::uint64_t id, Instant at);
  void unlink_later(std::uint64_t id, Instant at);

  // After the site is healed: attaches memory for PUTs and GETs of others, and begins such an
  // operation with `there`. False: no room.
  [[nodiscard]] bool attach_after();
  [[nodiscard]] bool begin_after(const Host& there, Story story, Instant now);

 private:
  // A delivery into a stripe.
  struct Landed {
    std::uint64_t content = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  // A descriptor of this program; `user` of its events.
  struct Record {
    enum class Kind : std::uint8_t { kInitiator, kWildcard, kSingle, kManaged, kSource, kAfter };
    Kind kind = Kind::kInitiator;
    bool live = false;
    bool refused = false;  // the call that began its operation refused it
    std::uint32_t slot = 0;
    std::uint32_t length = 0;
    std::uint64_t id = 0;  // of the operation; kManaged: of the first one
    lnet::MdHandle md;
    lnet::MeHandle me;
    std::array<Landed, kStripes> landed;
    unsigned landed_count = 0;
  };
  // An operation to begin. With a book of RPCs one that fails is begun again, as Lustre does.
  struct Request {
    Story story = Story::kGet;
    std::uint32_t target = 0;
    std::uint32_t length = 0;
    unsigned attempt = 1;
    Instant begun{};  // of the first attempt
    Instant sent{};   // of the last one
    Instant due{};    // of the next one
  };
  enum class Deed : std::uint8_t { kBegin, kAttach, kUnlinkEntry, kAbandon, kExpire, kSendAgain };
  struct Due {
    Instant at;
    Deed deed = Deed::kBegin;
    std::uint64_t id = 0;

    friend bool operator<(const Due& a, const Due& b) { return a.at > b.at; }  // soonest on top
  };

  void later(Instant at, Deed deed, std::uint64_t id);
  void carry_out(const Due& due, Instant now);
  void begin_some(Instant now);
  [[nodiscard]] bool begin_one(Instant now);
  [[nodiscard]] bool begin(Operation& operation, const Request& request, const lnet::Nid& nid,
                           Instant now);
  [[nodiscard]] bool repeats(Story story) const;
  void bound_rpc(Operation& operation);
  void expire_some(Instant now);
  void wait_to_send_again(Request request);
  void send_some_again(Instant now);
  void prepare_target(Operation& operation, lnet::PutSpec& put, Instant now);
  [[nodiscard]] bool begin_put(Operation& operation, const lnet::Nid& target, Instant now);
  [[nodiscard]] bool begin_get(Operation& operation, const lnet::Nid& target);
  [[nodiscard]] Operation* new_operation(Instant now);
  [[nodiscard]] Record* bind_for(const Operation& operation, std::int32_t threshold);
  [[nodiscard]] bool began(Record& record, const Result<void>& result);
  [[nodiscard]] Story draw_story();
  [[nodiscard]] Record* take_record(Record::Kind kind, std::uint32_t length);
  void give_back(Record& record);
  [[nodiscard]] bool attach(Record& record, const lnet::MeSpec& me, lnet::MdSpec md);
  [[nodiscard]] bool attach_wildcard();
  void attach_for_late_ones(Instant now);
  [[nodiscard]] bool attach_single(std::uint64_t id, lnet::PortalId portal, const lnet::Nid& from,
                                   std::uint32_t length, bool truncate);
  void attach_source();
  [[nodiscard]] Record* record_of_entry(std::uint64_t id);
  void initiator_event(Record& record, const lnet::Event& event);
  void check_reply(const Record& record, const Operation& operation, const lnet::Event& event);
  void operation_over(Record& record, Operation& operation);
  void note_rpc(const Operation& operation, bool well);
  void target_event(Record& record, const lnet::Event& event);
  void check_put(Record& record, Operation& operation, const lnet::Event& event);
  void check_stripes(const Record& record);
  void violate(const char* what, const Operation* operation, const lnet::Event& event);

  Host& host_;
  Ledger& ledger_;
  const TrafficPlan& plan_;
  lnet::DataOperations& lnet_;
  const lnet::ShardId shard_;
  const std::uint64_t content_;  // of the memory that others may get
  Random random_;
  Pool<Record> records_;
  // Indexed by descriptor.
  struct Bound {
    lnet::MdHandle md;
    std::uint64_t id = 0;
  };
  std::vector<Bound> bound_;
  std::vector<Due> due_;  // a heap
  unsigned left_;
  unsigned under_way_ = 0;
  std::vector<Request> again_;          // failed, to be begun again
  Instant expire_at_ = Instant::max();  // of the next kExpire
  bool refused_ = false;                // LNet refused the operation that began last
  Record* managed_ = nullptr;           // the one with the stripes that are assigned now
  std::uint64_t managed_id_ = 0;
  unsigned stripes_out_ = kStripes;
  bool begin_scheduled_ = false;
  bool unlinking_ = false;
  Instant now_{};
};

}  // namespace plnet::sim
