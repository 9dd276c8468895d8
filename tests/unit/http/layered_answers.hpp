#pragma once
// The decision of a stack, as the HTTP edge sees it, made by hand.

#include <penstock/decision.hpp>
#include <penstock/http/layers.hpp>

#include <string_view>
#include <vector>

struct layered_answers {
  struct report {
    std::string_view name;
    penstock::decision decision;
    bool skipped = false;
    bool shadow = false;
  };
  std::vector<report> reports;

  std::vector<report> const& layers() const noexcept { return reports; }
  std::string_view limited_by() const noexcept {
    report const* longest = nullptr;
    for (report const& r : reports)
      if (!r.decision && !r.skipped && !r.shadow && (longest == nullptr || r.decision.retry_after > longest->decision.retry_after)) longest = &r;
    return longest == nullptr ? std::string_view{} : longest->name;
  }
};

static_assert(penstock::http::layered_decision<layered_answers>);
static_assert(!penstock::http::layered_decision<penstock::decision>);
