// Three requests at once, then one every six seconds, for each client.
#include <iostream>
#include <penstock/penstock.hpp>

penstock::token_bucket<std::string> per_client({.refill = penstock::per_minute(10), .burst = 3});

void handle(std::string_view client) {
  if (auto const d = per_client.allow(client))
    std::cout << "200 OK, " << d.remaining << " left\n";
  else
    std::cout << "429 Too Many Requests, Retry-After: " << ceil<std::chrono::seconds>(d.retry_after).count() << '\n';
}

int main() { for (int request = 0; request < 5; ++request) handle("198.18.0.7"); }
