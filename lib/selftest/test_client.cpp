// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/test_client.hpp"

#include <algorithm>

namespace plnet::selftest {

namespace {

// Bounds of a turn, also when many requests are due.
constexpr unsigned kBegunBurst = 256;
constexpr unsigned kDroppedBurst = 4096;
// Larger than the differences between seeds of nodes.
constexpr std::uint64_t kSeedStep = 0x9e37'79b9'7f4a'7c15;

// The words that a server writes for a simple check depend on its memory's page boundaries. If the
// data does not begin with a page here, only its two ends are sure to be written.
bool sink_is_well(std::span<const std::byte> data, const BulkSetup& bulk, bool swapped) {
  const std::uint64_t word = magic_of(swapped);
  if (bulk.check != Check::kSimple || bulk.offset == 0)
    return !first_wrong_word(data, bulk.check, 0, word);
  return !first_wrong_word(data.first(kPatternWordBytes), Check::kFull, 0, word) &&
         !first_wrong_word(data.last(kPatternWordBytes), Check::kFull, 0, word);
}

}  // namespace

void TestClient::start(TestInstance& test, Instant now) {
  PLNET_CHECK(test.is_client && test.active_units == 0, "a client's test that stands still");
  now_ = now;
  test.stopping = false;
  test.paced = pace_.rate > 0;
  test.units.for_each([&](TestUnit& unit) {
    unit.active = true;
    unit.iterations = test.loop;
    ++test.active_units;
  });
  if (test.paced) {
    // Repeated runs must be independent, as nodes are.
    Pace pace = pace_;
    pace.seed += kSeedStep * paced_starts_++;
    test.arrivals.begin(pace, now);
    test.starved = Instant::min();
    test.units.for_each([&](TestUnit& unit) { test.idle.push_back(unit); });
    paced_.push_back(test);
    return;
  }
  // No RPC ends within this loop, so that all units are counted when the first of them ends.
  test.units.for_each([&](TestUnit& unit) { send(unit, now_); });
}

void TestClient::stop(TestInstance& test, bool force) {
  test.stopping = true;
  while (TestUnit* const unit = test.idle.pop_front())
    end(*unit);
  if (!force) return;
  test.units.for_each([&](TestUnit& unit) {
    if (unit.active) requester_.abort(*unit.rpc, Errc::kCancelled);
  });
}

void TestClient::forget(TestInstance& test) {
  while (test.idle.pop_front() != nullptr) {
  }
  ListNode<PacedTest>& place = test;
  if (place.linked()) place.unlink();
}

unsigned TestClient::poll() {
  next_due_ = Instant::max();
  if (paced_.empty()) return 0;
  unsigned begun = 0;
  paced_.for_each([&](TestInstance& test) {
    begun += serve(test);
    if (!test.idle.empty()) next_due_ = std::min(next_due_, test.arrivals.due());
  });
  return begun;
}

unsigned TestClient::serve(TestInstance& test) {
  if (test.stopping) return 0;
  drop_late(test);
  if (is_late(test)) return 0;  // further late requests wait for the next turn
  unsigned begun = 0;
  while (begun < kBegunBurst && test.arrivals.due() <= now_) {
    TestUnit* const unit = test.idle.pop_front();
    if (unit == nullptr) {
      test.starved = now_;
      break;
    }
    const Instant due = test.arrivals.due();
    test.arrivals.take();
    count(PaceCount::kBegun);
    // It was due in an earlier turn but found no free unit.
    if (due <= test.starved) count(PaceCount::kWaited);
    send(*unit, due);
    ++begun;
  }
  return begun;
}

bool TestClient::is_late(const TestInstance& test) const {
  return now_ - test.arrivals.due() > kArrivalWaitMax;
}

void TestClient::drop_late(TestInstance& test) {
  for (unsigned i = 0; i < kDroppedBurst; ++i) {
    if (!is_late(test)) return;
    test.arrivals.take();
    count(PaceCount::kDropped);
  }
}

void TestClient::send(TestUnit& unit, Instant meant) {
  unit.sent_at = meant;
  const RpcSpec spec{.target = unit.destination,
                     .service = unit.test->service,
                     .features = unit.test->batch->session->features,
                     .timeout = rpc_timeout_};
  if (unit.test->service == Service::kBrw) return send_brw(unit, spec);
  unit.sequence = ping_sequence_++;
  // Servers ignore it. It is not wall-clock time, which is not handed in here.
  const auto time = now_.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  requester_.start(*unit.rpc, spec,
                   PingRequest{.sequence = unit.sequence,
                               .time_s = static_cast<std::uint64_t>(seconds.count()),
                               .time_ns = static_cast<std::uint64_t>((time - seconds).count())},
                   now_);
}

void TestClient::send_brw(TestUnit& unit, const RpcSpec& base) {
  const BulkSetup& bulk = unit.test->bulk;
  RpcSpec spec = base;
  if (bulk.operation == BulkOperation::kRead) {
    spec.bulk = BulkUse::kSink;
    spec.bulk_memory = {unit.sink.at, bulk.length};
    fill_data(unit.sink.bytes.first(bulk.length), bulk.check, 0, kDataPoison);
  } else {
    spec.bulk = BulkUse::kSource;
    spec.bulk_memory = source_.first(bulk.length);
  }
  requester_.start(
      *unit.rpc, spec,
      BrwRequest{.operation = bulk.operation, .length = bulk.length, .check = bulk.check}, now_);
}

bool TestClient::is_well(const TestUnit& unit, const ClientRpc& rpc) {
  const TestInstance& test = *unit.test;
  if (test.service == Service::kPing) {
    const auto reply = rpc.reply<PingReply>();
    return reply.status == Status::kOk && reply.magic == kPingMagic &&
           reply.sequence == unit.sequence;
  }
  if (rpc.reply<BrwReply>().status != Status::kOk) return false;
  if (test.bulk.operation != BulkOperation::kRead) return true;
  return sink_is_well(unit.sink.bytes.first(test.bulk.length), test.bulk,
                      rpc.reply_header().swapped);
}

bool TestClient::judge(TestUnit& unit, const ClientRpc& rpc, Result<void> outcome) {
  if (!outcome && unit.test->stopping) return false;  // stopped on request
  if (outcome && is_well(unit, rpc)) return true;
  Session& session = *unit.test->batch->session;
  ++(unit.test->service == Service::kPing ? session.ping_errors : session.brw_errors);
  return false;
}

void TestClient::rpc_done(ClientRpc& rpc, Result<void> outcome) {
  auto& unit = *static_cast<TestUnit*>(rpc.context);
  const TestInstance& test = *unit.test;
  const bool well = judge(unit, rpc, outcome);
  // Failed RPCs are left out: they take as long as their timeout.
  if (well && latency_ != nullptr)
    latency_->of(test).record(static_cast<std::uint64_t>((now_ - unit.sent_at).count()));
  const bool used_up = test.counts_iterations() && --unit.iterations == 0;
  if (test.stopping || used_up || (!well && test.stop_on_error)) return end(unit);
  if (test.paced) return unit.test->idle.push_back(unit);
  send(unit, now_);
}

void TestClient::end(TestUnit& unit) {
  PLNET_CHECK(unit.active && unit.test->active_units > 0, "a unit ends once");
  unit.active = false;
  if (--unit.test->active_units > 0) return;
  forget(*unit.test);
  events_.on_test_idle(*unit.test);
}

}  // namespace plnet::selftest
