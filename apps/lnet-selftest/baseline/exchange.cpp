// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/baseline/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "apps/lnet-selftest/baseline/bare_pair.hpp"
#include "apps/lnet-selftest/baseline/on_cpu.hpp"

namespace plnet::baseline {
namespace {

// One end: sends a message for each completely received one. Uses each system call for as much as
// possible, as any good program would.
class End {
 public:
  End(int socket, std::size_t in_bytes, std::size_t out_bytes)
      : socket_(socket),
        in_bytes_(in_bytes),
        out_bytes_(out_bytes),
        in_(std::max(in_bytes, kBufferMin)),
        out_(std::max(out_bytes, kBufferMin), std::byte{1}) {}

  void owe(std::uint64_t messages) { owed_ += messages * out_bytes_; }
  // False: the connection is gone.
  [[nodiscard]] bool turn() {
    const ssize_t got = ::recv(socket_, in_.data(), in_.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
    if (got > 0) {
      received_ += static_cast<std::uint64_t>(got);
      owe(received_ / in_bytes_ - messages_);
      messages_ = received_ / in_bytes_;
    }
    if (owed_ == 0) return true;
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(owed_, out_.size()));
    const ssize_t sent = ::send(socket_, out_.data(), part, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    owed_ -= static_cast<std::uint64_t>(sent);
    return true;
  }
  // Messages received.
  [[nodiscard]] std::uint64_t messages() const { return messages_; }

 private:
  static constexpr std::size_t kBufferMin = std::size_t{64} << 10U;

  const int socket_;
  const std::size_t in_bytes_;
  const std::size_t out_bytes_;
  std::vector<std::byte> in_;
  const std::vector<std::byte> out_;
  std::uint64_t received_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t owed_ = 0;  // bytes to send
};

struct Counted {
  std::uint64_t exchanges = 0;
  Duration took{};
  bool well = false;
};

// Counts from the first reply to the last with `ahead` requests under way.
Counted ask(const BarePair& pair, const ExchangeShape& shape, Duration duration,
            const Clock& clock) {
  End end(pair.near.get(), shape.reply_bytes, shape.request_bytes);
  end.owe(std::clamp(shape.ahead, 1U, kAheadMax));
  Counted counted;
  const Instant begun = clock.now();
  while (counted.took < duration) {
    if (!end.turn()) return counted;
    counted.took = clock.now() - begun;
  }
  counted.exchanges = end.messages();
  counted.well = true;
  return counted;
}

}  // namespace

Outcome<double> exchanges_per_second(const ExchangeShape& shape, Cpus cpus, Duration duration,
                                     const Clock& clock) {
  if (cpus.client == cpus.server) return failure(Errc::kInvalid, "two CPUs are needed");
  const BarePair pair;
  if (!pair.valid())
    return failure(Errc::kBusy,
                   "this machine makes no TCP connection to itself: no descriptor or port is free, "
                   "or its loopback interface is filtered");
  std::atomic<bool> stop = false;
  std::atomic<bool> at_home = true;
  std::thread server([&] {
    if (!move_to_cpu(cpus.server)) at_home = false;
    End end(pair.far.get(), shape.request_bytes, shape.reply_bytes);
    while (!stop.load(std::memory_order_relaxed) && end.turn()) {
    }
  });
  Counted counted;
  std::thread client([&] {
    if (!move_to_cpu(cpus.client)) at_home = false;
    counted = ask(pair, shape, duration, clock);
    stop = true;
  });
  client.join();
  server.join();
  if (!at_home) return failure(Errc::kNotPermitted, "this process may not use these CPUs");
  if (!counted.well) return failure(Errc::kIo, "a connection to this machine broke");
  return static_cast<double>(counted.exchanges) /
         std::chrono::duration<double>(counted.took).count();
}

}  // namespace plnet::baseline
