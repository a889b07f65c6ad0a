// How Python hands an operation its arguments: the number of threads, and an array of 64-bit words (addresses, whole
// numbers, and the bits of doubles). All operations looking alike, a whole pass can be kept as a list of calls
// (replay.cpp).

#pragma once

#include <cstdint>
#include <cstring>

// The words in their order.
class Words {
 public:
  explicit Words(const int64_t* first) : next_(first) {}
  template <class T>
  T* address() {
    return reinterpret_cast<T*>(*next_++);
  }
  int64_t whole() { return *next_++; }
  float real() {
    double x;
    std::memcpy(&x, next_++, sizeof x);
    return static_cast<float>(x);
  }

 private:
  const int64_t* next_;
};
