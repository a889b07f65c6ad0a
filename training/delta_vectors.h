// Vectors of one head, in the registers of a CPU core.
#pragma once

#include <cstdint>

namespace {

constexpr int64_t kDim = 64;  // size of a key and of a value

// Sixteen floats.
typedef float Lane __attribute__((vector_size(64), aligned(4)));

// A key, a value or a row of the state, in four registers. (Four members and not an array, which GCC keeps in memory.)
struct Vec {
  Lane a, b, c, d;
};
inline Vec operator+(const Vec& x, const Vec& y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
inline Vec operator-(const Vec& x, const Vec& y) { return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d}; }
inline Vec operator*(const Vec& x, const Vec& y) { return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d}; }
inline Vec operator*(float s, const Vec& x) { return {s * x.a, s * x.b, s * x.c, s * x.d}; }

inline Lane load_lane(const float* p) { return *reinterpret_cast<const Lane*>(p); }
inline void store_lane(float* p, Lane x) { *reinterpret_cast<Lane*>(p) = x; }
inline Vec load(const float* p) { return {load_lane(p), load_lane(p + 16), load_lane(p + 32), load_lane(p + 48)}; }
inline void store(float* p, const Vec& x) {
  store_lane(p, x.a), store_lane(p + 16, x.b), store_lane(p + 32, x.c), store_lane(p + 48, x.d);
}

// The sum of a lane by halving it.
inline float sum(Lane x) {
  typedef float Half __attribute__((vector_size(32)));
  typedef float Quarter __attribute__((vector_size(16)));
  const Half half = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  const Quarter quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
  return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}
inline float sum(const Vec& x) { return sum((x.a + x.b) + (x.c + x.d)); }

}  // namespace
