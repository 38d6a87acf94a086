// SPDX-License-Identifier: BSD-3-Clause
// The text form of a value in a document: text() prints the value, parse() reads it. A missing
// value prints as "".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/address_pattern.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/nid_range.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/udsp_range.hpp"

namespace plnet::runtime {

// The form that follows from the type. Types with several forms (mostly numbers) have none: their
// rows name a class like these.
template <class T>
struct TextForm;

template <>
struct TextForm<std::string> {
  static std::string text(const std::string& value) { return value; }
};

template <>
struct TextForm<lnet::Nid> {
  static std::string text(const lnet::Nid& nid) { return lnet::text_of(nid); }
  static Outcome<lnet::Nid> parse(std::string_view text) { return lnet::parse_nid(text); }
};

template <>
struct TextForm<lnet::NidRangeList> {
  static std::string text(const lnet::NidRangeList& ranges) { return ranges.text(); }
  static Outcome<lnet::NidRangeList> parse(std::string_view text) {
    return lnet::NidRangeList::parse(text);
  }
};

// A NID, or a range that stands for several.
template <>
struct TextForm<std::vector<lnet::Nid>> {
  static std::string text(const std::vector<lnet::Nid>& nids) {
    std::string text;
    for (const lnet::Nid& nid : nids)
      lnet::append_piece(text, " ", lnet::text_of(nid));
    return text;
  }
  static Outcome<std::vector<lnet::Nid>> parse(std::string_view text) {
    const auto ranges = lnet::NidRangeList::parse(text);
    if (!ranges) return std::unexpected(ranges.error());
    return ranges->expand();
  }
};

template <>
struct TextForm<lnet::AddressPattern> {
  static std::string text(const lnet::AddressPattern& pattern) { return lnet::text_of(pattern); }
  static Outcome<lnet::AddressPattern> parse(std::string_view text) {
    return lnet::parse_address_pattern(lnet::TextPart(text), lnet::AddressStyle::kIpv4Ipv6);
  }
};

template <class T>
struct TextForm<std::optional<T>> {
  static std::string text(const std::optional<T>& value) {
    return value ? TextForm<T>::text(*value) : std::string{};
  }
  static Outcome<std::optional<T>> parse(std::string_view text) { return TextForm<T>::parse(text); }
};

// Older releases write NA for a missing range of a policy.
template <>
struct TextForm<std::optional<lnet::UdspRange>> {
  static std::string text(const std::optional<lnet::UdspRange>& range) {
    return range ? range->text() : std::string{};
  }
  static Outcome<std::optional<lnet::UdspRange>> parse(std::string_view text) {
    if (text == "NA") return std::nullopt;
    return lnet::UdspRange::parse(text);
  }
};

// kNetAny: not given.
struct NetText {
  static std::string text(lnet::NetId net) {
    return net == lnet::kNetAny ? std::string{} : lnet::text_of_net(net);
  }
  static Outcome<lnet::NetId> parse(std::string_view text) { return lnet::parse_net(text); }
};

// A form made of two functions.
template <auto kText, auto kParse>
struct TextBy {
  static auto text(const auto& value) { return kText(value); }
  static auto parse(std::string_view text) { return kParse(text); }
};

template <class Form>
Outcome<void> check_text(std::string_view text) {
  auto parsed = Form::parse(text);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return {};
}

}  // namespace plnet::runtime
