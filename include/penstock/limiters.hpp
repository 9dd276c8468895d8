#pragma once
// The six names a user types.
//
//   name              burst                    bytes a key       choose it
//   token_bucket      up to `burst`            8                 first; steady rates with room for bursts
//   leaky_meter       up to `capacity`         8                 the same verdicts, told as a level that drains
//   leaky_queue       none: delays instead     16                to smooth what goes downstream
//   fixed_window      2L around a boundary     16                quotas by the clock: "1000 a day"
//   sliding_counter   up to 2L at worst        16                near a sliding window, in two counts
//   sliding_log       none beyond L            40 + 32 an entry  few, costly requests: logins, payments

#include <penstock/algorithm/all_of.hpp>
#include <penstock/algorithm/fixed_window.hpp>
#include <penstock/algorithm/leaky_meter.hpp>
#include <penstock/algorithm/leaky_queue.hpp>
#include <penstock/algorithm/sliding_counter.hpp>
#include <penstock/algorithm/sliding_log.hpp>
#include <penstock/algorithm/token_bucket.hpp>
#include <penstock/limiter.hpp>

namespace penstock::inline v0_1 {

template <class Key = no_key, class Clock = std::chrono::steady_clock, class Store = default_store>
using fixed_window = limiter<algorithm::fixed_window, Key, Clock, Store>;
template <class Key = no_key, class Clock = std::chrono::steady_clock, class Store = default_store>
using sliding_log = limiter<algorithm::sliding_log, Key, Clock, Store>;
template <class Key = no_key, class Clock = std::chrono::steady_clock, class Store = default_store>
using sliding_counter = limiter<algorithm::sliding_counter, Key, Clock, Store>;
template <class Key = no_key, class Clock = std::chrono::steady_clock, class Store = default_store>
using token_bucket = limiter<algorithm::token_bucket, Key, Clock, Store>;
template <class Key = no_key, class Clock = std::chrono::steady_clock, class Store = default_store>
using leaky_meter = limiter<algorithm::leaky_meter, Key, Clock, Store>;
template <class Key = no_key, class Clock = std::chrono::steady_clock, class Store = default_store>
using leaky_queue = limiter<algorithm::leaky_queue, Key, Clock, Store>;

}  // namespace penstock::inline v0_1
