#pragma once
// The limiters that subjects.hpp only names.

#include <penstock/clock/manual_clock.hpp>
#include <penstock/limiter.hpp>
#include <penstock/store/unsynchronized.hpp>

#include "subjects.hpp"

#include <concepts>
#include <utility>
#include <vector>

namespace conformance {

template <class Row, class Key, class Store>
class limiter_subject final : public subject {
  using limiter = penstock::limiter<typename Row::algorithm, Key, penstock::manual_clock, Store>;
  static constexpr bool keyed = !std::same_as<Key, penstock::no_key>;

 public:
  limiter_subject(shape const& s, nanoseconds start, penstock::store_options const&)
    requires(!keyed)
      : clock_(start), limiter_(Row::config(s), clock_) {}
  limiter_subject(shape const& s, nanoseconds start, penstock::store_options const& options)
    requires keyed
      : clock_(start), limiter_(Row::config(s), options, clock_) {}

  decision allow(nanoseconds at, units c, key k) override {
    if constexpr (keyed)
      return limiter_.allow_at(on(at), k, penstock::cost{c});
    else
      return limiter_.allow_at(on(at), penstock::cost{c});
  }
  decision peek(nanoseconds at, units c, key k) const override {
    if constexpr (keyed)
      return limiter_.peek_at(on(at), k, penstock::cost{c});
    else
      return limiter_.peek_at(on(at), penstock::cost{c});
  }
  void charge(nanoseconds at, units c, key k) override {
    if constexpr (keyed)
      limiter_.charge_at(on(at), k, penstock::cost{c});
    else
      limiter_.charge_at(on(at), penstock::cost{c});
  }
  void refund(nanoseconds charged_at, units c, key k) override {
    if constexpr (keyed)
      limiter_.refund_at(on(charged_at), k, penstock::cost{c});
    else
      limiter_.refund_at(on(charged_at), penstock::cost{c});
  }
  void forget(key k) override {
    if constexpr (keyed)
      limiter_.forget(k);
    else
      limiter_.forget();
  }
  penstock::store_stats stats() const override { return limiter_.stats(); }

  decision take(nanoseconds at, units c, key k) override {
    if constexpr (keyed)
      tickets_.push_back(limiter_.take(on(at), k, penstock::cost{c}));
    else
      tickets_.push_back(limiter_.take(on(at), penstock::no_key{}, penstock::cost{c}));
    return tickets_.back().answer;
  }
  void undo() override {
    limiter_.undo(std::move(tickets_.back()));
    tickets_.pop_back();
  }

  void allow_each([[maybe_unused]] nanoseconds at, [[maybe_unused]] std::vector<key> const& keys,
                  [[maybe_unused]] std::span<decision> answers, [[maybe_unused]] units c) override {
    if constexpr (keyed) limiter_.allow_each_at(on(at), keys, answers, penstock::cost{c});
  }

  decision allow_by_clock(nanoseconds at, units c, key k) override {
    clock_.set(at);
    if constexpr (keyed)
      return limiter_.allow(k, penstock::cost{c});
    else
      return limiter_.allow(penstock::cost{c});
  }
  void reconfigure(nanoseconds at, shape const& s) override {
    clock_.set(at);
    limiter_.reconfigure(Row::config(s));
  }

 private:
  static penstock::manual_clock::time_point on(nanoseconds t) { return penstock::manual_clock::time_point{t}; }

  penstock::manual_clock clock_;
  limiter limiter_;
  std::vector<typename limiter::ticket> tickets_;
};

template <class Row>
std::unique_ptr<subject> make(store_kind where, shape const& s, nanoseconds start,
                              penstock::store_options const& options) {
  using key = subject::key;
  switch (where) {
    case store_kind::cell:
      return std::make_unique<limiter_subject<Row, penstock::no_key, penstock::default_store>>(s, start, options);
    case store_kind::table:
      if constexpr (penstock::store::fits_table<typename Row::state>) {
        static_assert(
            std::same_as<penstock::default_store::keyed<typename Row::algorithm, key>, penstock::store::table>);
        return std::make_unique<limiter_subject<Row, key, penstock::default_store>>(s, start, options);
      }
      return nullptr;
    case store_kind::sharded_map:
      return std::make_unique<limiter_subject<Row, key, penstock::store::sharded_map>>(s, start, options);
    case store_kind::unsynchronized_map:
      return std::make_unique<limiter_subject<Row, key, penstock::store::unsynchronized>>(s, start, options);
    case store_kind::unsynchronized_state:
      return std::make_unique<limiter_subject<Row, penstock::no_key, penstock::store::unsynchronized>>(s, start,
                                                                                                       options);
  }
  return nullptr;
}

#define LIMITERS_OF(Row) \
  template std::unique_ptr<subject> make<Row>(store_kind, shape const&, nanoseconds, penstock::store_options const&)

}  // namespace conformance
