// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/silence_book.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet::silence_book_test {
namespace {

using Kind = SilenceNote::Kind;

const Nid kServer = parse_nid("10.2.0.2@tcp1").value();
const Nid kOther = parse_nid("10.2.0.3@tcp1").value();

std::vector<SilenceNote> notes_of(SilenceBook& book) {
  std::vector<SilenceNote> notes;
  for (SilenceNote note; book.take(note);)
    notes.push_back(note);
  return notes;
}

TEST(SilenceBook, TheNextMessageOfASilentPeerIsReported) {
  SilenceBook book;
  book.heard(kServer);
  EXPECT_TRUE(notes_of(book).empty()) << "it was not silent";
  book.unanswered(kServer);
  book.unanswered(kServer);
  book.heard(parse_nid("10.1.0.1@tcp").value());
  book.heard(kOther);
  book.heard(kOther);
  book.heard(kServer);
  book.heard(kServer);
  const auto notes = notes_of(book);
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_EQ(notes[0].kind, Kind::kUnanswered);
  EXPECT_EQ(notes[0].target, kServer);
  EXPECT_EQ(notes[1].requests, 1U);
  EXPECT_EQ(notes[2].kind, Kind::kNeighbourHeard);
  EXPECT_EQ(notes[2].target, kServer);
  EXPECT_EQ(notes[3].kind, Kind::kHeard);
}

TEST(SilenceBook, RequestsWithoutRoomAreToldLater) {
  SilenceBook book;
  for (std::size_t i = 0; i < SilenceBook::kWaitingMax + 10; ++i)
    book.unanswered(kServer);
  EXPECT_EQ(notes_of(book).size(), SilenceBook::kWaitingMax);
  book.unanswered(kServer);
  const auto notes = notes_of(book);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].requests, 11U);
}

TEST(SilenceBook, TheOldestPeerGivesWay) {
  SilenceBook book;
  for (std::uint32_t host = 0; host <= SilenceBook::kTargetsMax; ++host)
    book.unanswered(Nid::of(NetType::kTcp, 1, host));
  (void)notes_of(book);
  book.heard(Nid::of(NetType::kTcp, 1, 0));
  for (const SilenceNote& note : notes_of(book))
    EXPECT_EQ(note.kind, Kind::kNeighbourHeard);
  book.heard(Nid::of(NetType::kTcp, 1, SilenceBook::kTargetsMax));
  EXPECT_EQ(notes_of(book).size(), 1U);
}

}  // namespace
}  // namespace plnet::lnet::silence_book_test
