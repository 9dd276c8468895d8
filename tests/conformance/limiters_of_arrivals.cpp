#include "limiters.hpp"

namespace conformance {
LIMITERS_OF(token_bucket);
LIMITERS_OF(leaky_meter);
LIMITERS_OF(leaky_queue);
LIMITERS_OF(bucket_and_window);
}  // namespace conformance
