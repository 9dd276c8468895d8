#pragma once
// The six names, with the state in Redis.

#include <penstock/redis/limiter.hpp>

namespace penstock::inline v0_1::redis {

class hiredis_pool;  // hiredis.hpp

template <limit_key Key = no_key, class Transport = hiredis_pool>
using fixed_window = limiter<algorithm::fixed_window, Key, Transport>;
template <limit_key Key = no_key, class Transport = hiredis_pool>
using sliding_log = limiter<algorithm::sliding_log, Key, Transport>;
template <limit_key Key = no_key, class Transport = hiredis_pool>
using sliding_counter = limiter<algorithm::sliding_counter, Key, Transport>;
template <limit_key Key = no_key, class Transport = hiredis_pool>
using token_bucket = limiter<algorithm::token_bucket, Key, Transport>;
template <limit_key Key = no_key, class Transport = hiredis_pool>
using leaky_meter = limiter<algorithm::leaky_meter, Key, Transport>;
template <limit_key Key = no_key, class Transport = hiredis_pool>
using leaky_queue = limiter<algorithm::leaky_queue, Key, Transport>;

}  // namespace penstock::inline v0_1::redis
