// SPDX-License-Identifier: BSD-3-Clause
// A ring of packets whose other owner writes anything into the shared memory at any time: each side
// stays within the ring, and no call takes more than the ring holds.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "drivers/net/cassini/soft/local_ring.hpp"
#include "lib/base/check.hpp"
#include "tests/fuzz/script.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr std::size_t kCapacity = 1024;
constexpr std::size_t kPacketMax = 200;

class Ring {
 public:
  explicit Ring(fuzz::Script script) : script_(script) {
    std::memset(memory_.get(), 0, kLocalRingHeaderBytes + kCapacity);
  }
  void run() {
    while (!script_.empty()) {
      switch (script_.below(4)) {
        case 0: put(); break;
        case 1: take(); break;
        case 2: overwrite(script_.below(2) * 64); break;
        default: overwrite(kLocalRingHeaderBytes + script_.below(kCapacity / 8) * 8); break;
      }
    }
  }

 private:
  void put() {
    const auto header = script_.bytes(script_.below(kPacketMax / 2));
    const auto payload = script_.bytes(script_.below(kPacketMax / 2));
    if (writer_.put(header, payload) != LocalRingWriter::Put::kDone) return;
    if (!is_honest_) return;
    expected_ += header.size() + payload.size();
  }
  void take() {
    std::span<const std::byte> packet;
    std::uint64_t all = 0;
    unsigned count = 0;
    for (; reader_.look(kPacketMax, packet) == LocalRingReader::Got::kPacket; ++count) {
      PLNET_CHECK(packet.size() <= kPacketMax, "no packet is longer");
      PLNET_CHECK(count <= kCapacity / 8, "a ring is not endless");
      std::array<std::byte, kPacketMax> copy{};
      std::ranges::copy(packet, copy.begin());  // all of it can be read
      all += packet.size();
      reader_.pop();
    }
    if (is_honest_) PLNET_CHECK(all == expected_, "every byte arrives");
    expected_ = 0;
  }
  // Mostly what an attacker would choose: near the valid values.
  void overwrite(std::size_t at) {
    is_honest_ = false;
    std::uint64_t word = 0;
    std::memcpy(&word, memory_.get() + at, sizeof word);
    const unsigned how = script_.below(4);
    if (how == 0) word = script_.number<std::uint64_t>();
    if (how == 1) word += script_.below(64) * 8;
    if (how == 2) word -= script_.below(64) * 8;
    if (how == 3) word = ~std::uint64_t{0} - script_.below(2);
    std::memcpy(memory_.get() + at, &word, sizeof word);
  }

  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  fuzz::Script script_;
  std::unique_ptr<std::byte[], Free> memory_{static_cast<std::byte*>(
      ::operator new[](kLocalRingHeaderBytes + kCapacity, std::align_val_t{64}))};
  LocalRingWriter writer_{memory_.get(), kCapacity};
  LocalRingReader reader_{memory_.get(), kCapacity};
  bool is_honest_ = true;
  std::uint64_t expected_ = 0;
};

}  // namespace
}  // namespace plnet::cassini::soft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::cassini::soft::Ring({data, size}).run();
  return 0;
}
