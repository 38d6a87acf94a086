// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/context_mail.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::kfilnd {

bool ContextEnd::post(std::uint8_t to, const Letter& letter) {
  PLNET_CHECK(to < out_.size() && to != context_, "a letter to another context of the interface");
  if (!out_[to].ring->push(letter)) return false;
  if (out_[to].doorbell != nullptr) out_[to].doorbell->ring();
  return true;
}

bool ContextEnd::empty() const {
  return std::ranges::all_of(in_, [](const Inward& from) {
    return !from.waits && (from.ring == nullptr || from.ring->empty());
  });
}

ContextMail::ContextMail(std::size_t contexts, std::size_t letters_max) {
  PLNET_CHECK(contexts > 0 && contexts <= UINT8_MAX, "contexts have 8 bits in an address");
  for (std::size_t i = 0; i < contexts; ++i) {
    ends_.push_back(std::unique_ptr<ContextEnd>(new ContextEnd(static_cast<std::uint8_t>(i))));
    ends_.back()->in_.resize(contexts);
    ends_.back()->out_.resize(contexts);
  }
  for (std::size_t from = 0; from < contexts; ++from) {
    for (std::size_t to = 0; to < contexts; ++to) {
      if (from == to) continue;
      ContextEnd::Ring* const ring =
          rings_.emplace_back(std::make_unique<ContextEnd::Ring>(letters_max)).get();
      ends_[from]->out_[to].ring = ring;
      ends_[to]->in_[from].ring = ring;
    }
  }
}

void ContextMail::set_doorbell(std::uint8_t context, Doorbell* doorbell) {
  PLNET_CHECK(context < ends_.size(), "a context of the interface");
  for (const auto& end : ends_)
    end->out_[context].doorbell = doorbell;
}

}  // namespace plnet::kfilnd
