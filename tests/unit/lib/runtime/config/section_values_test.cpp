// SPDX-License-Identifier: BSD-3-Clause
// A section defined in this file only: read, checked, reported with its position, exported.
#include "lib/runtime/config/section_values.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/runtime/config/schema_binding.hpp"
#include "lib/runtime/config/settings_diff.hpp"
#include "lib/runtime/config/settings_export.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/config/settings_section.hpp"

namespace plnet::runtime::section_values_test {
namespace {

struct Ring {
  std::uint32_t slots = 4;
  Origin origin{};
  bool operator==(const Ring&) const = default;
};
struct TrialSettings {
  static constexpr std::string_view kSection = "trial";
  std::uint32_t pace = 7;
  std::vector<Ring> rings;
  bool operator==(const TrialSettings&) const = default;
};

constexpr std::array kRingKeys{
    Key{.name = "slots",
        .kind = KeyKind::kInteger,
        .help = "Of a ring.",
        .low = 1,
        .high = 64,
        .binding = PLNET_FIELD(Ring, slots)},
};
constexpr std::array kTrialKeys{
    Key{.name = "pace",
        .kind = KeyKind::kInteger,
        .help = "Of all rings.",
        .low = 0,
        .high = 100,
        .binding = PLNET_SECTION_FIELD(TrialSettings, pace)},
    Key{.name = "rings",
        .kind = KeyKind::kRecords,
        .help = "Rings.",
        .high = 3,
        .children = kRingKeys,
        .binding = PLNET_SECTION_RECORDS(TrialSettings, rings),
        .origin = PLNET_ORIGIN(Ring, origin)},
};

void check_rings(const SectionValues& values, const SectionComplaint& complain) {
  const auto& rings = values.of<TrialSettings>().rings;
  for (std::size_t i = 0; i < rings.size(); ++i) {
    if (rings[i].slots % 2 != 0) complain(fmt::format("rings[{}]", i), "expected an even number");
  }
}

constexpr SettingsSection kTrial{
    .name = "trial", .help = "For this test.", .keys = kTrialKeys, .check = check_rings};
constexpr std::array<const SettingsSection*, 1> kSections{&kTrial};

TEST(SectionValues, HaveDefaultsUntilTheyAreSet) {
  SectionValues untouched;
  SectionValues values;
  EXPECT_EQ(std::as_const(values).of<TrialSettings>().pace, 7U);
  EXPECT_EQ(values.of<TrialSettings>(), TrialSettings{});
  EXPECT_EQ(values, untouched);
  EXPECT_EQ(untouched, values);
  values.of<TrialSettings>().pace = 8;
  EXPECT_NE(values, untouched);
  EXPECT_NE(untouched, values);
  SectionValues copy = values;
  EXPECT_EQ(copy, values);
  copy.of<TrialSettings>().rings.resize(1);
  EXPECT_NE(copy, values);
  EXPECT_TRUE(std::as_const(values).of<TrialSettings>().rings.empty()) << "a copy is apart";
}

TEST(SettingsSection, IsReadWithThePlaceOfItsItems) {
  const Schema schema(kSections);
  const auto read =
      read_settings(schema, "plnet: {trial: {pace: 9, rings: [{slots: 2}, {}]}}", "f");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  const auto& trial = read->sections.of<TrialSettings>();
  EXPECT_EQ(trial, (TrialSettings{.pace = 9, .rings = {{.slots = 2}, {.slots = 4}}}));
  EXPECT_EQ(trial.rings[0].origin.place, "f:1:34");
  EXPECT_EQ(trial.rings[1].origin.place, "f:1:46");
  EXPECT_EQ(reset_settings(schema, "plnet: {trial: }", "g", *read).value_or(*read), Settings{});
  const auto changes = diff_settings(schema, Settings{}, *read);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(render_changes(std::span(changes).first(1)),
            "plnet.trial.pace: 7 -> 9 (needs a restart)\n");
}

TEST(SettingsSection, ReportsErrorsOfItsCheck) {
  const auto read =
      read_settings(Schema(kSections), "plnet: {trial: {rings: [{}, {slots: 3}]}}", "f");
  ASSERT_FALSE(read.has_value());
  ASSERT_EQ(read.error().list().size(), 1U);
  EXPECT_EQ(read.error().list()[0].summary(),
            "f:1:29: plnet.trial.rings[1]: expected an even number");
}

TEST(SettingsSection, IsExportedBehindTheSectionOfLnet) {
  const Value plnet = export_settings(Schema(kSections), Settings{}, ExportForm::kBackup)["plnet"];
  EXPECT_EQ(plnet["trial"].dump(), R"({"pace":7,"rings":[]})");
  std::vector<std::string> names;
  for (const auto& [name, section] : plnet.items())
    names.push_back(name);
  const auto at = std::ranges::find(names, "trial");
  ASSERT_NE(at, names.end());
  EXPECT_EQ(*std::prev(at), "lnet");
  EXPECT_FALSE(read_settings(Schema(), "plnet: {trial: {pace: 1}}", "f").has_value())
      << "no schema has it by itself";
}

}  // namespace
}  // namespace plnet::runtime::section_values_test
