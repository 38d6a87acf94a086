// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/result.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace plnet::result_test {
namespace {

constexpr Errc kAll[] = {
#define PLNET_X(name, number, health, text) Errc::name,
    PLNET_ERRORS(PLNET_X)
#undef PLNET_X
};

TEST(Result, EveryErrorHasNameTextErrnoAndHealth) {
  std::set<std::string_view> names;
  std::set<std::string_view> texts;
  std::set<int> numbers;
  for (const Errc code : kAll) {
    EXPECT_FALSE(name_of(code).empty());
    EXPECT_NE(name_of(code), "unknown");
    EXPECT_NE(name_of(code).front(), 'k') << name_of(code);
    EXPECT_FALSE(text_of(code).empty());
    EXPECT_GT(errno_of(code), 0);
    EXPECT_LT(static_cast<std::size_t>(health_of(code)), kHealthCount);
    EXPECT_EQ(errc_of_errno(errno_of(code)), code) << name_of(code);
    names.insert(name_of(code));
    texts.insert(text_of(code));
    numbers.insert(errno_of(code));
  }
  EXPECT_EQ(names.size(), std::size(kAll));
  EXPECT_EQ(texts.size(), std::size(kAll));
  EXPECT_EQ(numbers.size(), std::size(kAll));
}

TEST(Result, AValueOutsideTheEnumIsStillAnswered) {
  // NOLINTBEGIN(clang-analyzer-optin.core.EnumCastOutOfRange): that is what is tested
  const auto code = static_cast<Errc>(250);
  EXPECT_EQ(name_of(code), "unknown");
  EXPECT_EQ(text_of(code), "unknown error");
  EXPECT_EQ(errno_of(code), EIO);
  EXPECT_EQ(health_of(code), Health::kLocalError);
  EXPECT_EQ(name_of(static_cast<Health>(99)), "unknown");
  // NOLINTEND(clang-analyzer-optin.core.EnumCastOutOfRange)
}

TEST(Result, SystemErrnosFindTheirNearestCode) {
  EXPECT_EQ(errc_of_errno(EACCES), Errc::kNotPermitted);
  EXPECT_EQ(errc_of_errno(EPIPE), Errc::kReset);
  EXPECT_EQ(errc_of_errno(EMFILE), Errc::kNoMemory);
  EXPECT_EQ(errc_of_errno(ENETUNREACH), Errc::kNoRoute);
  EXPECT_EQ(errc_of_errno(EADDRINUSE), Errc::kBusy);
  EXPECT_EQ(errc_of_errno(123456), Errc::kIo);
}

TEST(Result, HealthNamesDiffer) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kHealthCount; ++i)
    names.insert(name_of(static_cast<Health>(i)));
  EXPECT_EQ(names.size(), kHealthCount);
  EXPECT_EQ(name_of(Health::kNetworkTimeout), "network_timeout");
}

TEST(Outcome, CarriesWords) {
  const Outcome<int> outcome = failure(Errc::kNotFound, "no interface is called eth9");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kNotFound);
  EXPECT_EQ(outcome.error().what, "no interface is called eth9");
}

}  // namespace
}  // namespace plnet::result_test
