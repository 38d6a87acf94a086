// SPDX-License-Identifier: BSD-3-Clause
// Every golden vector about NIDs and CPTs.
#include <gtest/gtest.h>

#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::lnet::names_vectors_test {
namespace {

using vectors::Json;

TEST(NamesVectors, NidStructure) {
  const auto cases = vectors::group("lnet_nid");
  ASSERT_EQ(cases.size(), 11U);
  for (const Json& vector : cases) {
    SCOPED_TRACE(vectors::name(vector));
    const Nid nid = vectors::value_of<Nid>(vector);
    EXPECT_EQ(nid.size, vectors::number(vector, "nid_size"));
    EXPECT_EQ(nid.type, vectors::number(vector, "nid_type"));
    EXPECT_EQ(nid.number(), vectors::number(vector, "nid_num"));
    using Address = std::array<std::uint8_t, 16>;
    EXPECT_EQ(nid.address_be, vectors::raw<Address>(vector, "nid_addr"));

    const auto number = static_cast<std::uint16_t>(vectors::number(vector, "nid_num"));
    Nid built = Nid::of(static_cast<std::uint8_t>(vectors::number(vector, "nid_type")), number, 0);
    built.size = static_cast<std::uint8_t>(vectors::number(vector, "nid_size"));
    built.address_be = vectors::raw<Address>(vector, "nid_addr");
    EXPECT_EQ(vectors::hex_of(built), vectors::hex(vector));
  }
}

TEST(NamesVectors, Text) {
  const auto cases = vectors::group("nid_text");
  ASSERT_EQ(cases.size(), 154U);
  for (const Json& vector : cases) {
    SCOPED_TRACE(vectors::name(vector));
    const auto text_in = vector["fields"]["text_in"].get<std::string>();
    const auto text_out = vector["fields"]["text_out"].get<std::string>();
    const auto nid = parse_nid_or_any(text_in);
    ASSERT_TRUE(nid.has_value()) << nid.error().what;
    EXPECT_EQ(vectors::hex_of(*nid), vectors::hex(vector));
    EXPECT_TRUE(nid->is_well_formed());
    EXPECT_EQ(text_of(*nid), text_out);
    EXPECT_EQ(text_of(vectors::value_of<Nid>(vector)), text_out);
    const Nid64 short_form = to_nid64(*nid);
    const bool has_short_form = vector["fields"].contains("nid4");
    EXPECT_EQ(short_form.lossy, !has_short_form);
    if (has_short_form) {
      EXPECT_EQ(short_form.value, vectors::number(vector, "nid4"));
      EXPECT_EQ(from_nid64(short_form.value), *nid);
      EXPECT_EQ("bytes:" + vectors::hex_of(short_form.value),
                vector["fields"]["nid4_bytes_le"].get<std::string>());
    }
  }
}

TEST(NamesVectors, TextThatMustNotParse) {
  const auto cases = vectors::group("nid_text_reject");
  ASSERT_EQ(cases.size(), 10U);
  for (const Json& vector : cases) {
    const auto text = vector["fields"]["text_in"].get<std::string>();
    const auto nid = parse_nid_or_any(text);
    ASSERT_FALSE(nid.has_value()) << text;
    EXPECT_EQ(nid.error().code, Errc::kInvalid);
    EXPECT_NE(nid.error().what.find("column "), std::string::npos) << nid.error().what;
    EXPECT_NE(nid.error().what.find("expected "), std::string::npos) << nid.error().what;
    EXPECT_FALSE(parse_nid(text).has_value());
  }
}

struct Release {
  const char* field;
  CptHashRelease release;
};
constexpr Release kReleases[] = {
    {"v2_12", CptHashRelease::kV212}, {"v2_14", CptHashRelease::kV214},
    {"v2_15", CptHashRelease::kV215}, {"v2_16", CptHashRelease::kV216},
    {"v2_17", CptHashRelease::kV217},
};

TEST(NamesVectors, CptHash) {
  const auto cases = vectors::group("cpt_hash");
  ASSERT_EQ(cases.size(), 331U);
  std::size_t values = 0;
  for (const Json& vector : cases) {
    SCOPED_TRACE(vectors::name(vector));
    const Nid nid = vectors::value_of<Nid>(vector);
    const Json& fields = vector["fields"];
    const auto counts = fields["cpt_count"].get<std::vector<unsigned>>();
    for (const auto& [field, release] : kReleases) {
      if (!fields.contains(field)) continue;
      const auto expected = fields[field].get<std::vector<unsigned>>();
      ASSERT_EQ(expected.size(), counts.size());
      for (std::size_t i = 0; i < counts.size(); ++i) {
        EXPECT_EQ(CptHash(counts[i], release).of(nid), expected[i]) << field << ' ' << counts[i];
        ++values;
      }
    }
  }
  EXPECT_GE(values, cases.size() * 8 * 3);
}

TEST(NamesVectors, CptHashRestrictedToAList) {
  const auto cases = vectors::group("cpt_hash_list");
  ASSERT_EQ(cases.size(), 37U);
  for (const Json& vector : cases) {
    SCOPED_TRACE(vectors::name(vector));
    const Nid nid = vectors::value_of<Nid>(vector);
    const Json& fields = vector["fields"];
    const auto totals = fields["total_cpts"].get<std::vector<unsigned>>();
    const auto lengths = fields["list_length"].get<std::vector<unsigned>>();
    for (const auto& [field, release] : kReleases) {
      if (!fields.contains(field)) continue;
      const auto expected = fields[field].get<std::vector<unsigned>>();
      for (std::size_t i = 0; i < totals.size(); ++i) {
        const CptHash hash(totals[i], release);
        EXPECT_EQ(hash.choose(nid, lengths[i]), expected[i]) << field << ' ' << totals[i];
        std::vector<std::uint16_t> allowed;
        allowed.reserve(lengths[i]);
        for (unsigned cpt = 0; cpt < lengths[i]; ++cpt)
          allowed.push_back(static_cast<std::uint16_t>(totals[i] - 1 - cpt));
        EXPECT_EQ(hash.of(nid, allowed), allowed[expected[i]]);
      }
    }
  }
}

}  // namespace
}  // namespace plnet::lnet::names_vectors_test
