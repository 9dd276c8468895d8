// algorithm/leaky_meter.hpp: the token bucket's mirror image.

#include <penstock/limiters.hpp>

#include "../random.hpp"
#include "../timeline.hpp"

using namespace penstock;
using namespace timeline;

TEST_CASE("a meter fills and drains") {
  holds<algorithm::leaky_meter>({.drain = per_second(2), .capacity = 6},
                                {admitted(0s, 6), limited(0s, 500ms), limited(499ms, 1ms), admitted(500ms),
                                 limited(500ms, 500ms), limited(500ms, 3s, 6), never(500ms, 7), admitted(3'500ms, 6)});
}

TEST_CASE("a meter and a bucket of equal size give the same decisions, on a million random steps with weights") {
  struct row {
    rate speed;
    std::uint64_t size;
    nanoseconds most;
  };
  for (auto const& r : {row{per_second(10), 20, 150ms}, row{per_second(7), 5, 200ms},
                        row{per_second(12'345), 100, 200us}, row{per(1, 30 * 24h), 3, 6h}}) {
    token_bucket<no_key, manual_clock> bucket({.refill = r.speed, .burst = r.size});
    leaky_meter<no_key, manual_clock> meter({.drain = r.speed, .capacity = r.size});
    dice random(9);
    nanoseconds now = 0s;
    int different = 0, passed = 0, refused = 0;
    for (int i = 0; i < 250'000; ++i) {
      now += random.up_to(r.most);
      cost const c{random.below(r.size + 2)};
      nanoseconds const asked = random.below(10) == 0 ? now - random.up_to(r.most) : now;
      decision const b = bucket.allow_at(on(asked), c), m = meter.allow_at(on(asked), c);
      if (b != m) ++different;
      b ? ++passed : ++refused;
    }
    CHECK(different == 0);
    CHECK(passed > 10'000);
    CHECK(refused > 10'000);
  }
}
