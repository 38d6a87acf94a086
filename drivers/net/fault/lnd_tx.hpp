// SPDX-License-Identifier: BSD-3-Clause
// Faults on messages that the core sends. A held message still belongs to the core, which has lent
// it; a duplicate is a copy of this class, and its original does not end before it, so that the
// source stays in place.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "drivers/net/fault/judge.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::drivers {

inline constexpr std::size_t kHeldMax =
    256;  // messages held back at once; further ones pass unchanged
inline constexpr std::size_t kCopiesMax = 64;  // duplicates under way at once

class FaultLndTx {
 public:
  FaultLndTx(FaultJudge& judge, lnet::LndUpcalls& core) : judge_(judge), core_(core) {}

  std::size_t send(lnet::Lnd& lower, std::span<lnet::Transmit* const> burst, Instant now);
  unsigned flush(lnet::Lnd& lower, Instant now);
  void cancel(lnet::Lnd& lower, lnet::Transmit& transmit);
  void release_peer(const lnet::PeerLink& link);
  void shut_down();
  void on_sent(std::span<const lnet::Completion> burst);
  // Ends held messages that need not wait any longer, without sending any.
  unsigned end_failed(Instant now);
  [[nodiscard]] bool idle() const { return held_count_ == 0 && copy_count_ == 0; }
  [[nodiscard]] Instant next_deadline() const;

 private:
  enum class Then : std::uint8_t { kSend, kSucceed, kFail };
  struct Held {
    lnet::Transmit* transmit = nullptr;
    Then then = Then::kSend;
    Instant due;
    unsigned overtake_left = 0;  // reorder: sent at 0, or when due
    bool counts_overtakers = false;
    Errc error = Errc::kIo;
    Health health = Health::kOk;
  };
  enum class CopyState : std::uint8_t { kFree, kToSend, kSent };
  struct Copy {
    lnet::Transmit transmit;
    lnet::Transmit* original = nullptr;  // null once it has ended
    CopyState state = CopyState::kFree;
    bool original_done = false;
    lnet::Completion completion;  // of the original, held back
  };

  bool hold(const FaultRule& rule, lnet::Transmit& transmit, Instant now);
  bool duplicate(lnet::Transmit& transmit);
  Copy* copy_of(const lnet::Transmit& transmit);
  void copy_done(Copy& copy);
  void remove(std::size_t index);
  void doom(Held& held, Errc error);
  void passed_one();

  FaultJudge& judge_;
  lnet::LndUpcalls& core_;
  std::array<Held, kHeldMax> held_{};  // in the order of arrival
  std::size_t held_count_ = 0;
  std::array<Copy, kCopiesMax> copies_{};
  std::size_t copy_count_ = 0;
  Instant stalled_until_ = Instant::min();  // min: not stalled
  bool shut_down_ = false;
  // The rule was drawn already, but the LND had no room: it is not drawn again for the same
  // message.
  const lnet::Transmit* retry_ = nullptr;
};

}  // namespace plnet::drivers
