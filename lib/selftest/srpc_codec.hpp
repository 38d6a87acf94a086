// SPDX-License-Identifier: BSD-3-Clause
// The one encode and the one decode of srpc messages. Templates by body, so that each is a few
// moves on the path of a test; and one function for readers that accept any message.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/base/result.hpp"
#include "lib/selftest/srpc_tests.hpp"
#include "lib/selftest/srpc_wire.hpp"

namespace plnet::selftest {

// A struct that lists its fields in each().
template <class T>
concept Composite = requires(T value) { T::each(value, [](const auto&... /*fields*/) {}); };

// --- Sizes and offsets ---

template <class T>
[[nodiscard]] constexpr std::size_t wire_bytes() {
  if constexpr (std::is_same_v<T, TestParameters>) {
    return kParameterBytes;
  } else if constexpr (Composite<T>) {
    std::size_t sum = 0;
    const T value{};
    T::each(value, [&sum](const auto&... fields) {
      sum = (0 + ... + wire_bytes<std::remove_cvref_t<decltype(fields)>>());
    });
    return sum;
  } else {
    static_assert(std::is_trivially_copyable_v<T>);
    return sizeof(T);  // integers, enumerations, names
  }
}

// The offset of a field in its struct.
template <class T, class Field>
[[nodiscard]] consteval std::size_t offset_of(Field T::* member) {
  const T value{};
  const void* const wanted = &(value.*member);
  std::size_t at = 0;
  std::size_t found = std::numeric_limits<std::size_t>::max();
  T::each(value, [&](const auto&... fields) {
    (((static_cast<const void*>(&fields) == wanted ? found = at : at),
      at += wire_bytes<std::remove_cvref_t<decltype(fields)>>()),
     ...);
  });
  return found;
}

inline constexpr std::size_t kHeaderBytes = wire_bytes<Header>();
inline constexpr std::size_t kBodyBytes = kMessageBytes - kHeaderBytes;
static_assert(kHeaderBytes == 24 && kBodyBytes == 136);

// --- Conversion of fields ---

class FieldReader {
 public:
  FieldReader(const std::byte* at, bool swapped) : at_(at), swapped_(swapped) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (read(fields), ...);
  }

 private:
  template <class T>
  void read(T& field) {
    if constexpr (std::is_same_v<T, TestParameters>) {
      read(field.template emplace<RawParameters>());  // readers that know the service parse further
    } else if constexpr (Composite<T>) {
      T::each(field, *this);
    } else {
      std::memcpy(&field, at_, sizeof field);
      at_ += sizeof field;
      if constexpr (std::is_enum_v<T>) {
        if (swapped_) field = static_cast<T>(std::byteswap(std::to_underlying(field)));
      } else if constexpr (std::is_integral_v<T>) {
        if (swapped_) field = std::byteswap(field);
      }
    }
  }

  const std::byte* at_;
  const bool swapped_;
};

class FieldWriter {
 public:
  explicit FieldWriter(std::byte* at) : at_(at) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (write(fields), ...);
  }

 private:
  template <class T>
  void write(const T& field) {
    if constexpr (std::is_same_v<T, TestParameters>) {
      std::byte* const end = at_ + kParameterBytes;
      std::visit([this](const auto& parameters) { this->write(parameters); }, field);
      std::memset(at_, 0, static_cast<std::size_t>(end - at_));
      at_ = end;
    } else if constexpr (Composite<T>) {
      T::each(field, *this);
    } else {
      std::memcpy(at_, &field, sizeof field);
      at_ += sizeof field;
    }
  }

  std::byte* at_;
};

// --- Messages ---

struct ReceivedHeader {
  Header header;         // in our byte order, including the magic
  bool swapped = false;  // the sender has the other byte order
};

// kMalformed: not 160 bytes; kProtocol: another magic. The answering code checks the version.
[[nodiscard]] inline Result<ReceivedHeader> decode_header(std::span<const std::byte> bytes) {
  if (bytes.size() != kMessageBytes) return std::unexpected(Errc::kMalformed);
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  ReceivedHeader received;
  received.swapped = magic == std::byteswap(kMagic);
  if (magic != kMagic && !received.swapped) return std::unexpected(Errc::kProtocol);
  Header::each(received.header, FieldReader(bytes.data(), received.swapped));
  return received;
}

// Requires a header of this type. Fields may hold any value.
template <class T>
[[nodiscard]] T decode_body(std::span<const std::byte, kMessageBytes> bytes,
                            const ReceivedHeader& received) {
  static_assert(wire_bytes<T>() <= kBodyBytes);
  T body;
  T::each(body, FieldReader(bytes.data() + kHeaderBytes, received.swapped));
  if constexpr (std::is_same_v<T, TestRequest>) {
    const auto raw = std::get<RawParameters>(body.parameters);
    FieldReader again(raw.data(), received.swapped);
    if (body.service == Service::kPing) {
      PingParameters::each(body.parameters.template emplace<PingParameters>(), again);
    } else if (body.service == Service::kBrw) {
      if ((received.header.features & kFeatureBulkLength) != 0) {
        BulkParametersV1::each(body.parameters.template emplace<BulkParametersV1>(), again);
      } else {
        BulkParametersV0::each(body.parameters.template emplace<BulkParametersV0>(), again);
      }
    }
  }
  return body;
}

// Writes the header unchanged: tests may put any type into it.
template <class T>
void encode(const Header& header, const T& body, std::span<std::byte, kMessageBytes> out) {
  constexpr std::size_t kUsed = kHeaderBytes + wire_bytes<T>();
  static_assert(kUsed <= kMessageBytes);
  Header::each(header, FieldWriter(out.data()));
  T::each(body, FieldWriter(out.data() + kHeaderBytes));
  std::memset(out.data() + kUsed, 0, kMessageBytes - kUsed);
}
// With the header of this type, in a session with these features.
template <class T>
void encode(std::uint32_t features, const T& body, std::span<std::byte, kMessageBytes> out) {
  encode(Header{.type = T::kType, .features = features}, body, out);
}

struct Message {
  ReceivedHeader received;
  Body body;
};
// Decodes any type. Errors as in decode_header(); kNotSupported: no such type.
[[nodiscard]] Result<Message> decode_message(std::span<const std::byte> bytes);

}  // namespace plnet::selftest
