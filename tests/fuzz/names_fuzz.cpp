// SPDX-License-Identifier: BSD-3-Clause
// Every text parser of lib/lnet/names. The first byte chooses the parser, the rest is the text.
// A parsed value must survive its own text; an error must name its place.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/networks_text.hpp"
#include "lib/lnet/names/nid_range.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/routes_text.hpp"
#include "lib/lnet/names/udsp_range.hpp"

namespace {

using namespace plnet;
using namespace plnet::lnet;

template <class Value>
bool parsed(const Outcome<Value>& outcome) {
  if (outcome) return true;
  PLNET_CHECK(outcome.error().what.find("column ") != std::string::npos, "an error says where");
  PLNET_CHECK(outcome.error().what.size() < 1000, "an error is short");
  return false;
}

void fuzz_nid(std::string_view text) {
  const auto nid = parse_nid_or_any(text);
  if (!parsed(nid)) return;
  PLNET_CHECK(nid->is_well_formed(), "what we read we could have written");
  const std::string printed = text_of(*nid);
  PLNET_CHECK(printed.size() <= kNidTextMax, "the text of a NID is short");
  PLNET_CHECK(parse_nid_or_any(printed).value() == *nid, "a NID survives its text");
}

void fuzz_process_id(std::string_view text) {
  const auto id = parse_process_id_or_any(text);
  if (!parsed(id)) return;
  PLNET_CHECK(parse_process_id_or_any(text_of(*id)).value() == *id, "an id survives its text");
}

void fuzz_ranges(std::string_view text) {
  const auto list = NidRangeList::parse(text);
  if (!parsed(list)) return;
  const auto again = NidRangeList::parse(list->text());
  // Written out in full, "*" is longer than it was: the text may have become too long.
  PLNET_CHECK(again ? *again == *list || again->text() == list->text()
                    : list->text().size() > kNamesTextMax,
              "ranges survive their text");
  const auto nids = list->expand();
  if (!nids) return;
  PLNET_CHECK(nids->size() <= kNidsPerOperationMax, "an expansion is bounded");
  for (const Nid& nid : *nids)
    PLNET_CHECK(list->matches(nid), "what a list names it matches");
}

void fuzz_udsp(std::string_view text) {
  const auto range = UdspRange::parse(text);
  if (!parsed(range)) return;
  (void)range->matches(Nid::of(range->type, 1, 0x0a000001));
  const auto again = UdspRange::parse(range->text());
  PLNET_CHECK(again ? again->text() == range->text() : range->text().size() > kNamesTextMax,
              "a range survives its text");
}

void fuzz_networks(std::string_view text) {
  const auto networks = parse_networks(text, 16);
  if (!parsed(networks)) return;
  const std::string printed = text_of(*networks);
  const auto again = parse_networks(printed, 16);
  PLNET_CHECK(again ? text_of(*again) == printed : printed.size() > kNamesTextMax,
              "networks survive their text");
}

void fuzz_ip2nets(std::string_view text) {
  const auto rules = parse_ip2nets(text, 16);
  if (!parsed(rules)) return;
  const IpAddress local[] = {IpAddress::v4(0xc0a80102),
                             parse_ip("2001:db8::1").value_or(IpAddress{})};
  const auto networks = match_ip2nets(*rules, local);
  PLNET_CHECK(networks || networks.error().code == Errc::kNotFound, "a match or none");
}

void fuzz_routes(std::string_view text) {
  const auto routes = parse_routes(text);
  if (!parsed(routes)) return;
  PLNET_CHECK(routes->size() <= kRoutesMax, "routes are bounded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 7) {
    case 0: fuzz_nid(text); break;
    case 1: fuzz_process_id(text); break;
    case 2: fuzz_ranges(text); break;
    case 3: fuzz_udsp(text); break;
    case 4: fuzz_networks(text); break;
    case 5: fuzz_ip2nets(text); break;
    default: fuzz_routes(text); break;
  }
  return 0;
}
