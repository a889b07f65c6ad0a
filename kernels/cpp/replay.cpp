// A pass that was recorded, again: the calls of all its layers without going back to Python in between.
//
// What a CUDA graph is to a GPU. The addresses stay the same from step to step; what lies there does not.

#include "words.h"

struct RecordedCall {
  void (*operation)(int64_t threads, const int64_t* words);
  const int64_t* words;
};

extern "C" void replay(int64_t threads, const RecordedCall* calls, int64_t n) {
  for (int64_t i = 0; i < n; ++i) calls[i].operation(threads, calls[i].words);
}
