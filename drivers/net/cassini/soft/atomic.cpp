// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/atomic.hpp"

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>
#include <type_traits>

namespace plnet::cassini::soft {
namespace {

struct Uint128 {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Uint128&, const Uint128&) = default;
};

template <class Value>
Value load(const std::byte* from) {
  Value value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Value>
constexpr bool kOrdered = std::is_arithmetic_v<Value>;
template <class Value>
constexpr bool kSummed = !std::is_same_v<Value, Uint128>;

template <class Value>
bool holds(AtomicCompare compare, const Value& operand, const Value& value) {
  if (compare == AtomicCompare::kEqual) return operand == value;
  if (compare == AtomicCompare::kNotEqual) return !(operand == value);
  if constexpr (kOrdered<Value>) {
    switch (compare) {
      case AtomicCompare::kLessEqual: return operand <= value;
      case AtomicCompare::kLess: return operand < value;
      case AtomicCompare::kGreaterEqual: return operand >= value;
      case AtomicCompare::kGreater: return operand > value;
      default: break;
    }
  }
  return false;
}

// Whole numbers wrap around.
template <class Value>
Value sum(const Value& value, const Value& operand) {
  if constexpr (std::is_integral_v<Value>) {
    using Wide = std::make_unsigned_t<Value>;
    return static_cast<Value>(
        static_cast<Wide>(static_cast<Wide>(value) + static_cast<Wide>(operand)));
  } else {
    return value + operand;
  }
}

template <class Value>
Value combine_bits(AtomicOperation operation, Value value, Value first, Value second) {
  switch (operation) {
    case AtomicOperation::kLogicalOr: return static_cast<Value>(value != 0 || first != 0);
    case AtomicOperation::kLogicalAnd: return static_cast<Value>(value != 0 && first != 0);
    case AtomicOperation::kLogicalXor: return static_cast<Value>((value != 0) != (first != 0));
    case AtomicOperation::kOr: return static_cast<Value>(value | first);
    case AtomicOperation::kAnd: return static_cast<Value>(value & first);
    case AtomicOperation::kXor: return static_cast<Value>(value ^ first);
    case AtomicOperation::kAndXor: return static_cast<Value>((value & ~second) ^ first);
    default: return value;
  }
}

template <class Value>
Value combine(const AtomicRequest& request, const Value& value) {
  const auto first = load<Value>(request.first.data());
  const auto second = load<Value>(request.second.data());
  if (request.operation == AtomicOperation::kSwap) return first;
  if (request.operation == AtomicOperation::kCompareSwap)
    return holds(request.compare, second, value) ? first : value;
  if constexpr (kSummed<Value>) {
    if (request.operation == AtomicOperation::kSum) return sum(value, first);
  }
  if constexpr (kOrdered<Value>) {
    if (request.operation == AtomicOperation::kMin) return std::min(value, first);
    if (request.operation == AtomicOperation::kMax) return std::max(value, first);
  }
  if constexpr (std::is_integral_v<Value>)
    return combine_bits(request.operation, value, first, second);
  return value;
}

template <class Value>
void change(const AtomicRequest& request, std::byte* at) {
  const Value value = combine(request, load<Value>(at));
  std::memcpy(at, &value, sizeof value);
}

bool is_ordered(AtomicType type) {
  return type <= AtomicType::kFloat || type == AtomicType::kDouble;
}

bool is_valid(const AtomicRequest& request) {
  const AtomicType type = request.type;
  if (static_cast<unsigned>(type) >= kAtomicTypes) return false;
  switch (request.operation) {
    case AtomicOperation::kMin:
    case AtomicOperation::kMax: return is_ordered(type);
    case AtomicOperation::kSum:
    case AtomicOperation::kSwap: return type != AtomicType::kUint128;
    case AtomicOperation::kLogicalOr:
    case AtomicOperation::kLogicalAnd:
    case AtomicOperation::kLogicalXor:
    case AtomicOperation::kOr:
    case AtomicOperation::kAnd:
    case AtomicOperation::kXor:
    case AtomicOperation::kAndXor: return type <= AtomicType::kUint64;
    case AtomicOperation::kCompareSwap:
      if (request.compare == AtomicCompare::kEqual) return true;
      if (request.compare == AtomicCompare::kNotEqual) return type != AtomicType::kUint128;
      return request.compare <= AtomicCompare::kGreater && is_ordered(type);
  }
  return false;
}

template <class Value>
void add_atomically(const AtomicRequest& request, std::byte* at, AtomicValue& before) {
  const std::atomic_ref value(*reinterpret_cast<Value*>(at));
  const Value old = value.fetch_add(load<Value>(request.first.data()));
  std::memcpy(before.data(), &old, sizeof old);
}

}  // namespace

bool is_for_cpu(const AtomicRequest& request, int remap) {
  if (remap < 0 || static_cast<int>(request.operation) != remap) return false;
  const bool is_sum = request.operation == AtomicOperation::kSum;
  switch (request.type) {
    case AtomicType::kUint32:
    case AtomicType::kUint64: return true;
    case AtomicType::kInt32:
    case AtomicType::kInt64: return is_sum;
    default: return false;
  }
}

void run_cpu_addition(const AtomicRequest& request, std::byte* value, AtomicValue& before) {
  if (atomic_bytes(request.type) == sizeof(std::uint32_t)) {
    add_atomically<std::uint32_t>(request, value, before);
  } else {
    add_atomically<std::uint64_t>(request, value, before);
  }
}

ReturnCode check_atomic(const AtomicRequest& request, std::uint64_t address) {
  if (!is_valid(request)) return ReturnCode::kAtomicInvalid;
  return address % atomic_bytes(request.type) == 0 ? ReturnCode::kOk
                                                   : ReturnCode::kAtomicMisaligned;
}

void run_atomic(const AtomicRequest& request, std::byte* value, AtomicValue& before) {
  std::copy_n(value, atomic_bytes(request.type), before.begin());
  switch (request.type) {
    case AtomicType::kInt8: change<std::int8_t>(request, value); break;
    case AtomicType::kUint8: change<std::uint8_t>(request, value); break;
    case AtomicType::kInt16: change<std::int16_t>(request, value); break;
    case AtomicType::kUint16: change<std::uint16_t>(request, value); break;
    case AtomicType::kInt32: change<std::int32_t>(request, value); break;
    case AtomicType::kUint32: change<std::uint32_t>(request, value); break;
    case AtomicType::kInt64: change<std::int64_t>(request, value); break;
    case AtomicType::kUint64: change<std::uint64_t>(request, value); break;
    case AtomicType::kFloat: change<float>(request, value); break;
    case AtomicType::kFloatComplex: change<std::complex<float>>(request, value); break;
    case AtomicType::kDouble: change<double>(request, value); break;
    case AtomicType::kDoubleComplex: change<std::complex<double>>(request, value); break;
    case AtomicType::kUint128: change<Uint128>(request, value); break;
  }
}

}  // namespace plnet::cassini::soft
