// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-traffic/source.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "apps/lnet-traffic/pattern.hpp"
#include "apps/lnet-traffic/protocol.hpp"

namespace plnet::traffic {

using lnet::Event;
using lnet::EventKind;

namespace {

// After a failure, so that an unreachable target does not cost a CPU.
constexpr Duration kPause = std::chrono::milliseconds(5);
constexpr std::byte kBlank{0xa5};
constexpr unsigned kBegunPerTurn = 8;  // filling and checking a megabyte takes a while

}  // namespace

Source::Source(SourceConfig config, const ArenaTable& arenas, std::span<const Fragment> memory,
               std::span<const std::byte> expected, TrafficCounters& counters)
    : config_(std::move(config)),
      arenas_(arenas),
      expected_(expected),
      counters_(counters),
      random_(config_.run) {
  operations_.reserve(memory.size());
  for (const Fragment& room : memory)
    operations_.push_back({.room = room, .used = room});
  for (Operation& operation : operations_)
    free_.push_back(&operation);
  timed_ = free_.size();
}

bool Source::has_more() const {
  return !config_.targets.empty() && (config_.operations == 0 || begun_ < config_.operations);
}

bool Source::done() const {
  return !has_more() && free_.size() == operations_.size();
}

unsigned Source::step(lnet::DataOperations& lnet, Instant now) {
  lnet_ = &lnet;
  time_the_ended(now);
  if (std::exchange(failed_lately_, false)) pause_until_ = now + kPause;
  if (now < pause_until_) return 0;
  unsigned count = 0;
  for (; count < kBegunPerTurn && has_more() && !free_.empty() && !failed_lately_; ++count) {
    Operation& operation = *free_.back();
    free_.pop_back();
    timed_ = std::min(timed_, free_.size());
    begin(operation, lnet, now);
  }
  return count;
}

// Their events arrived in the turn of this step.
void Source::time_the_ended(Instant now) {
  for (; timed_ < free_.size(); ++timed_) {
    if (free_[timed_]->answered) pace_.end(free_[timed_]->begun, now);
  }
}

Instant Source::next_deadline() const {
  return has_more() && !free_.empty() ? pause_until_ : Instant::max();
}

// All orders of magnitude are equally likely, so that there are small and large payloads.
std::uint32_t Source::pick_length() {
  const auto bits = static_cast<unsigned>(std::bit_width(config_.bytes_max));
  const std::uint64_t most = std::uint64_t{1} << random_.below(bits);
  return static_cast<std::uint32_t>(
      random_.between(0, std::min<std::uint64_t>(most, config_.bytes_max)));
}

void Source::begin(Operation& operation, lnet::DataOperations& lnet, Instant now) {
  const std::uint64_t sequence = begun_++;
  counters_.add(TrafficId::kBegun);
  counters_.add(TrafficId::kUnderWay);
  const std::uint32_t length = pick_length();
  operation.used = {operation.room.at, length};
  operation.answered = false;
  operation.begun = now;
  pace_.begin(now);
  operation.is_get = random_.below(100) < config_.get_percent;
  const std::span<std::byte> bytes = arenas_.bytes(operation.used);
  if (operation.is_get) {
    std::ranges::fill(bytes, kBlank);
  } else {
    fill_pattern(bytes, pattern_key(config_.run, sequence));
  }
  const auto md = lnet.bind({.fragments = std::span(&operation.used, 1),
                             .length = length,
                             .threshold = 2,  // the message and its answer
                             .user = &operation,
                             .handler = this});
  if (!md) return end(operation);
  const lnet::ProcessId target{config_.targets[sequence % config_.targets.size()]};
  Result<void> sent;
  if (operation.is_get) {
    operation.offset = static_cast<std::uint32_t>(random_.between(0, kBytesMax - length));
    sent = lnet.get(*md, {.target = target, .portal = kGetPortal, .offset = operation.offset});
  } else {
    sent = lnet.put(*md, {.target = target,
                          .portal = kPutPortal,
                          .match_bits = config_.run,
                          .header_data = PutLabel{sequence, length}.packed()});
  }
  // Refused at once: no event will follow, so release the descriptor.
  if (!sent) (void)lnet.unlink(*md);
}

void Source::on_event(const Event& event) {
  auto& operation = *static_cast<Operation*>(event.user);
  const bool answer = event.kind == EventKind::kAck || event.kind == EventKind::kReply;
  if (answer && event.status) operation.answered = true;
  if (event.unlinked) return end(operation);
  // A message that was not sent gets no answer.
  if (event.kind == EventKind::kSend && !event.status) (void)lnet_->unlink(event.md);
}

void Source::end(Operation& operation) {
  counters_.subtract(TrafficId::kUnderWay);
  const std::span<const std::byte> bytes = arenas_.bytes(operation.used);
  if (!operation.answered && config_.is_cut_off && config_.is_cut_off()) {
    counters_.add(TrafficId::kAbandoned);
  } else if (!operation.answered) {
    counters_.add(TrafficId::kFailed);
    failed_lately_ = true;
  } else {
    counters_.add(TrafficId::kAnswered);
    counters_.add(TrafficId::kBytes, bytes.size());
    const bool right = !operation.is_get ||
                       std::ranges::equal(bytes, expected_.subspan(operation.offset, bytes.size()));
    if (!right) counters_.add(TrafficId::kWrong);
  }
  free_.push_back(&operation);
}

void Source::let_go() {
  lnet_ = nullptr;
  counters_.add(TrafficId::kAbandoned, counters_.get(TrafficId::kUnderWay));
  counters_.set(TrafficId::kUnderWay, 0);
  free_.clear();
  for (Operation& operation : operations_)
    free_.push_back(&operation);
  timed_ = free_.size();
}

}  // namespace plnet::traffic
