#pragma once

#include <cstdint>
#include <new>

// Numbers between two steps of an operation, kept from call to call: a fresh buffer would cost its page faults anew.
class Scratch {
 public:
  ~Scratch() { release(); }
  // Room for n numbers, at the start of a cache line; what was in it is lost.
  float* of(int64_t n) {
    if (n > size_) {
      release();
      kept_ = static_cast<float*>(::operator new(n * sizeof(float), kAligned));
      size_ = n;
    }
    return kept_;
  }

 private:
  static constexpr std::align_val_t kAligned{64};
  void release() { ::operator delete(kept_, kAligned); }
  float* kept_ = nullptr;
  int64_t size_ = 0;
};
