// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/lane_notes.hpp"

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using Id = SockLndCounters::Id;

void LaneNotes::on_note(const LaneNote& note) {
  PLNET_CHECK(note.lane != nullptr, "a note is about a lane");
  Lane& lane = *note.lane;
  switch (note.word) {
    case LaneWord::kDial: return dial(lane);
    case LaneWord::kTake: return adopt(lane);
    case LaneWord::kOpen: return open(lane);
    case LaneWord::kClose: return close(lane, note.cause);
    case LaneWord::kReply: return on_reply(lane);
    case LaneWord::kClosed: return on_closed(note);
  }
}

// --- At the home ---

void LaneNotes::on_reply(Lane& lane) {
  Connection& connection = connections_.of_slot(lane.at_home);
  PLNET_CHECK(connection.away && connection.lane == &lane, "a stand-in represents the lane");
  if (connection.state == State::kDialing) dialler_.judge_reply(connection, lane.reply);
}

// The siblings of a connection that never opened on its shard stay.
void LaneNotes::on_closed(const LaneNote& note) {
  Lane& lane = *note.lane;
  PLNET_CHECK(note.heard <= lane.said, "the other shard hears only what was said");
  if (note.heard < lane.said) return;  // one more note follows for each word under way
  PLNET_CHECK(lane.home == environment_.config.lanes->shard(),
              "the home hears of the end of its lane");
  Connection& connection = connections_.of_slot(lane.at_home);
  PLNET_CHECK(connection.away && connection.lane == &lane, "a stand-in represents the lane");
  if (connection.state == State::kOpen && !lane.was_open) {
    connections_.leave_open(connection, note.cause);
    connection.state = State::kClosing;
  }
  dialler_.on_connection_lost(connection, note.cause);
  connections_.release(connection);
  environment_.config.lanes->give(lane);
}

// --- On the shard of the lane ---

Peer* LaneNotes::peer_of(Lane& lane) {
  if (environment_.shutting_down) return nullptr;
  Peer* const peer = peers_.find_or_make(lane.arrival.peer);
  if (peer == nullptr) {
    environment_.count(Id::kRefusedNoRoom);
    return nullptr;
  }
  peer->elsewhere = true;
  return peer->releasing ? nullptr : peer;
}

void LaneNotes::join(Lane& lane, Connection& connection) {
  PLNET_CHECK(connection.lane == nullptr && lane.shard == environment_.config.lanes->shard(),
              "a lane has one connection, on its shard");
  connection.lane = &lane;
  lane.at_lane = connections_.handle_of(connection).index;
}

void LaneNotes::dial(Lane& lane) {
  Peer* const peer = peer_of(lane);
  if (peer == nullptr) return environment_.config.lanes->report_gone(lane, Errc::kNoSpace);
  peers_.serve_soon(*peer);
  const auto connection = dialler_.dial(*peer, lane.arrival.type, lane.arrival.hello.protocol);
  if (!connection) return environment_.config.lanes->report_gone(lane, connection.error());
  join(lane, **connection);
}

void LaneNotes::adopt(Lane& lane) {
  const Arrival& arrival = lane.arrival;
  Peer* const peer = peer_of(lane);
  if (peer == nullptr) {
    environment_.driver().discard(arrival.stream);
    return environment_.config.lanes->report_gone(lane, Errc::kNoSpace);
  }
  peers_.serve_soon(*peer);
  Connection* const connection = connections_.adopt(*peer, arrival);
  if (connection == nullptr) return environment_.config.lanes->report_gone(lane, Errc::kNoSpace);
  join(lane, *connection);
  connections_.add_hello(*connection, static_cast<std::int32_t>(arrival.type));
  lane.was_open = true;
  connections_.open(*connection, arrival.swapped);
}

Connection* LaneNotes::connection_of(Lane& lane, Errc cause) {
  PLNET_CHECK(lane.shard == environment_.config.lanes->shard(),
              "words of the home go to the shard of the lane");
  if (lane.over) {
    environment_.config.lanes->report(lane, LaneWord::kClosed, cause);
    return nullptr;
  }
  Connection& connection = connections_.of_slot(lane.at_lane);
  PLNET_CHECK(connection.lane == &lane && !connection.away, "the lane names its connection");
  return connection.state == State::kClosing ? nullptr : &connection;
}

void LaneNotes::open(Lane& lane) {
  Connection* const connection = connection_of(lane, Errc::kClosed);
  if (connection == nullptr) return;
  PLNET_CHECK(connection->state == State::kJudged,
              "the home opens a connection whose HELLO it has judged");
  lane.was_open = true;
  connection->protocol = connection->reader.hello().protocol;
  connections_.open(*connection, connection->reader.swapped());
  environment_.driver().resume_reading(connection->stream);
}

void LaneNotes::close(Lane& lane, Errc cause) {
  Connection* const connection = connection_of(lane, cause);
  if (connection == nullptr) return;
  connection->ours = cause == Errc::kShutdown;
  if (connection->state == State::kJudged) {  // the home has refused the reply, and counted it
    connection->state = State::kClosing;
    return connections_.close_stream(*connection, cause);
  }
  connections_.close(*connection, connection->ours ? Id::kClosedReleased : Id::kClosedSibling,
                     cause, false);
}

}  // namespace plnet::socklnd
