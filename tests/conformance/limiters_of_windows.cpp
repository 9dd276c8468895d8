#include "limiters.hpp"

namespace conformance {
LIMITERS_OF(aligned_window);
LIMITERS_OF(first_request_window);
LIMITERS_OF(sliding_counter);
LIMITERS_OF(sliding_log);
LIMITERS_OF(log_and_bucket);
}  // namespace conformance
