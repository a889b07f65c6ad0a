// What a Gated DeltaNet layer does between its two projections (reference.gated_delta_net).

#include "delta_net.h"
#include "scratch.h"

extern "C" void gated_delta_net(int64_t threads, const int64_t* words) {
  using namespace delta_net;
  static thread_local Scratch mixed;
  Words w(words);
  Call c = call_of(w, false);
  c.mixed = mixed.of(c.tokens * c.channels());
  layer(threads, c, [&](int64_t b, int64_t h) {
    if (c.key_dim == 64) head<64>(c, b, h);
    else if (c.key_dim == 128) head<128>(c, b, h);
    else head<0>(c, b, h);
  });
}
