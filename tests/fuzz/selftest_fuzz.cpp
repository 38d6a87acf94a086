// SPDX-License-Identifier: BSD-3-Clause
// A test node of LNet's selftest and an RPC peer: sessions, batches and tests with any values in
// their fields, bulk memory that exists or not, answers to requests of its tests, torn messages,
// and time. The node keeps running, and at the end it holds no resource.
#include <array>
#include <list>
#include <memory>
#include <type_traits>
#include <variant>

#include "tests/fuzz/script.hpp"
#include "tests/unit/lib/selftest/console_site.hpp"

namespace plnet::selftest::selftest_fuzz {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr unsigned kStepsMax = 120;
constexpr std::size_t kMemoryBytes = 12U << 20U;
constexpr std::uint32_t kUnits = 4;
// Messages of the peer wait for answers as long as lnet_transaction_timeout, which is 150 s.
constexpr unsigned kLongestWaitSeconds = 160;

// Fills the fields of a message, mostly with small numbers, which other messages have, too.
class FieldDrawer {
 public:
  explicit FieldDrawer(fuzz::Script& script) : script_(script) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (draw(fields), ...);
  }

 private:
  template <class T>
  void draw(T& field) {
    if constexpr (std::is_same_v<T, TestParameters>) {
      switch (script_.below(3)) {
        case 0: return draw(field.template emplace<PingParameters>());
        case 1: return draw(field.template emplace<BulkParametersV0>());
        default: return draw(field.template emplace<BulkParametersV1>());
      }
    } else if constexpr (Composite<T>) {
      T::each(field, *this);
    } else if constexpr (std::is_enum_v<T>) {
      field = static_cast<T>(script_.number<std::underlying_type_t<T>>());
    } else if constexpr (std::is_integral_v<T>) {
      field = static_cast<T>(script_.number<std::make_unsigned_t<T>>());
    }
  }
  fuzz::Script& script_;
};

class Run {
 public:
  explicit Run(fuzz::Script& script) : script_(script) {
    bulk_ = nodes_.memory().split(kListPageBytes);
    host_->server.open();
    host_->node.open();
    for (const Service service : {Service::kPing, Service::kBrw})
      asked_.listen(kTestPortal, static_cast<std::uint64_t>(service));
  }

  void run() {
    for (unsigned i = 0; i < kStepsMax && !script_.empty(); ++i) {
      step();
      settle(20);
    }
    host_->server.close();
    host_->node.close();
    for (unsigned i = 0; i < 400 && !closed(); ++i)
      turn(seconds(1));
    settle(100);
    for (unsigned i = 0; i < kLongestWaitSeconds; ++i)
      turn(seconds(1));
    PLNET_CHECK(closed(), "the node closes after any input");
    PLNET_CHECK(nodes_.descriptors(1) == 0, "no descriptor is left");
    PLNET_CHECK(host_->node.framework().zombies() == 0, "no session is left");
  }

 private:
  [[nodiscard]] bool closed() { return host_->server.closed() && host_->node.closed(); }
  void turn(Duration time) {
    nodes_.turn(time);
    host_->server.poll(nodes_.now());
    host_->node.poll(nodes_.now());
  }
  void settle(unsigned turns) {
    for (unsigned i = 0; i < turns; ++i)
      turn(std::chrono::microseconds(1));
  }

  void step() {
    switch (script_.below(16)) {
      case 0:
      case 1: return ask<MakeSessionRequest>(Service::kMakeSession);
      case 2: return ask<RemoveSessionRequest>(Service::kRemoveSession);
      case 3: return ask<DebugRequest>(Service::kDebug);
      case 4: return ask<JoinRequest>(Service::kJoin);
      case 5:
      case 6: return ask<BatchRequest>(Service::kBatch);
      case 7:
      case 8: return ask<TestRequest>(Service::kTest);
      case 9: return ask<StatRequest>(Service::kStat);
      case 10: return ask<PingRequest>(Service::kPing);
      case 11: return ask<BrwRequest>(Service::kBrw);
      case 12: return script_.below(2) == 0 ? answer<PingReply>() : answer<BrwReply>();
      case 13: return lay_open();
      case 14: {
        std::ranges::fill(stranger_.out(), std::byte{});
        std::ranges::copy(script_.bytes(kMessageBytes), stranger_.out().begin());
        return send(static_cast<Service>(script_.below(14)), script_.byte());
      }
      default: return turn(script_.below(2) == 0 ? milliseconds(500) : seconds(script_.byte()));
    }
  }
  template <class Request>
  void ask(Service service) {
    Request request;
    Request::each(request, FieldDrawer(script_));
    const std::uint32_t features = script_.below(8) == 0 ? script_.byte() : kFeaturesKnown;
    encode(features, request, stranger_.out());
    send(service, kMessageBytes);
  }
  void send(Service service, std::uint32_t length) {
    stranger_.put(nodes_.id(1), portal_of(service), static_cast<std::uint64_t>(service),
                  std::min<std::uint32_t>(length, kMessageBytes));
  }
  // Answers the last request of one of its tests.
  template <class Reply>
  void answer() {
    Reply reply;
    Reply::each(reply, FieldDrawer(script_));
    const auto request = decode_message(asked_.in());
    if (!request) return;
    std::uint64_t bits = script_.byte();
    if (const auto* const ping = std::get_if<PingRequest>(&request->body)) bits = ping->reply_id;
    if (const auto* const bulk = std::get_if<BrwRequest>(&request->body)) bits = bulk->reply_id;
    encode(kFeaturesKnown, reply, stranger_.out());
    stranger_.put(nodes_.id(1), kRdmaPortal, bits);
    for (const Service service : {Service::kPing, Service::kBrw}) {
      if (script_.below(2) != 0) asked_.listen(kTestPortal, static_cast<std::uint64_t>(service));
    }
  }
  // Exposes a list of nodes to test, or bulk data.
  void lay_open() {
    const std::uint32_t entries = script_.below(4);
    for (std::uint32_t i = 0; i < entries; ++i) {
      (void)lnet::encode_process_id(
          nodes_.id(script_.below(2)),
          bulk_.bytes.subspan(destination_offset(i)).first<lnet::kProcessIdBytes>());
    }
    const std::uint32_t length =
        script_.below(2) == 0 ? kListPageBytes : entries * kDestinationBytes;
    Fragment& piece = fragments_.emplace_back(Fragment{bulk_.at, length});
    (void)nodes_.shard(0).attach({.portal = kRdmaPortal, .match_bits = script_.byte()},
                                 {.fragments = {&piece, 1},
                                  .length = length,
                                  .threshold = 1,
                                  .options = script_.below(2) == 0 ? lnet::kMdGet : lnet::kMdPut});
  }

  fuzz::Script& script_;
  Nodes nodes_{Wire::kStream, 2, kMemoryBytes};
  std::unique_ptr<Host> host_ = std::make_unique<Host>(nodes_, 1, kUnits, seconds(5));
  RawPeer stranger_{nodes_, 0};
  RawPeer asked_{nodes_, 0};
  WorkMemory bulk_;
  std::list<Fragment> fragments_;
};

}  // namespace
}  // namespace plnet::selftest::selftest_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::fuzz::end_at_failures();
  plnet::fuzz::Script script(data, size);
  plnet::selftest::selftest_fuzz::Run(script).run();
  return 0;
}
