// SPDX-License-Identifier: BSD-3-Clause
// Letters between the LNDs of one interface, each with a receive context on its own shard: a HELLO
// that arrived at another context than that of the peer's home, and peers that send to the wrong
// context. A bounded ring from each to each other. Cold: a few letters for each handshake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/ring.hpp"
#include "lib/kfilnd/wire.hpp"

namespace plnet::kfilnd {

struct Letter {
  enum class Matter : std::uint8_t {
    kHelloRequest,
    kHelloResponse,
    kMisdirected,  // the peer does not know its home: send it a HELLO
  };

  std::uint64_t nid64 = 0;  // the peer
  Matter matter = Matter::kMisdirected;
  Hello hello;  // in kHelloRequest and kHelloResponse
};

// The end of one context. Only its shard calls it.
class ContextEnd {
 public:
  [[nodiscard]] std::uint8_t context() const { return context_; }
  [[nodiscard]] std::size_t contexts() const { return out_.size(); }
  // False: there is no room now.
  [[nodiscard]] bool post(std::uint8_t to, const Letter& letter);

  // Passes letters of the others to `hear`, at most `most` of each. `hear(letter)` returns false if
  // the letter has to wait: it is passed again first. Returns the number of letters handled.
  template <class Hear>
  unsigned collect(unsigned most, Hear&& hear) {
    unsigned count = 0;
    for (Inward& from : in_) {
      for (unsigned i = 0; i < most; ++i, ++count) {
        if (!from.waits) from.waits = from.ring != nullptr && from.ring->pop(from.first);
        if (!from.waits || !hear(static_cast<const Letter&>(from.first))) break;
        from.waits = false;
      }
    }
    return count;
  }
  [[nodiscard]] bool empty() const;

 private:
  friend class ContextMail;
  using Ring = SpscRing<Letter>;
  struct Inward {
    Ring* ring = nullptr;
    Letter first;  // taken out of the ring, not handled yet
    bool waits = false;
  };
  struct Outward {
    Ring* ring = nullptr;
    Doorbell* doorbell = nullptr;
  };

  explicit ContextEnd(std::uint8_t context) : context_(context) {}

  const std::uint8_t context_;
  std::vector<Inward> in_;  // by context; no ring for its own
  std::vector<Outward> out_;
};

class ContextMail {
 public:
  static constexpr std::size_t kLettersMax = 256;  // in each ring; more wait in receive buffers

  // Allocates all rings. Outlives the LNDs that use its ends.
  explicit ContextMail(std::size_t contexts, std::size_t letters_max = kLettersMax);
  ContextMail(const ContextMail&) = delete;
  ContextMail& operator=(const ContextMail&) = delete;

  // Sets the doorbell of the shard that has this context, before the first letter. Null: the shard
  // never sleeps.
  void set_doorbell(std::uint8_t context, Doorbell* doorbell);
  [[nodiscard]] ContextEnd& end(std::uint8_t context) {
    PLNET_CHECK(context < ends_.size(), "a context of the interface");
    return *ends_[context];
  }

 private:
  std::vector<std::unique_ptr<ContextEnd::Ring>> rings_;
  std::vector<std::unique_ptr<ContextEnd>> ends_;
};

}  // namespace plnet::kfilnd
