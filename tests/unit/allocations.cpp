#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local allocations counted;
thread_local std::size_t left = all_succeed;

// The size stands in front of what is handed out, in as many bytes as keep the alignment.
void* take_or_null(std::size_t size, std::size_t alignment) noexcept {
  if (left != all_succeed && left-- == 0) return left = all_succeed, nullptr;
  std::size_t const front = alignment < alignof(std::max_align_t) ? alignof(std::max_align_t) : alignment;
  std::size_t const all = (front + size + front - 1) / front * front;
  auto* const raw = static_cast<std::byte*>(std::aligned_alloc(front, all));
  if (raw == nullptr) return nullptr;
  ::new (raw) std::size_t(size);
  ++counted.made;
  counted.bytes += static_cast<std::ptrdiff_t>(size);
  return raw + front;
}

void* take(std::size_t size, std::size_t alignment) {
  if (void* const at = take_or_null(size, alignment)) return at;
  throw std::bad_alloc();
}

void give_back(void* at, std::size_t alignment) noexcept {
  if (at == nullptr) return;
  std::size_t const front = alignment < alignof(std::max_align_t) ? alignof(std::max_align_t) : alignment;
  std::byte* const raw = static_cast<std::byte*>(at) - front;
  counted.bytes -= static_cast<std::ptrdiff_t>(*std::launder(reinterpret_cast<std::size_t*>(raw)));
  std::free(raw);
}

}  // namespace

allocations allocations_so_far() noexcept { return counted; }
std::size_t& allocations_left() noexcept { return left; }

// All forms are replaced: a sanitizer brings its own of those that are not, and the two kinds must not meet.
void* operator new(std::size_t size) { return take(size, 1); }
void* operator new[](std::size_t size) { return take(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}

void* operator new(std::size_t size, std::nothrow_t const&) noexcept { return take_or_null(size, 1); }
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept { return take_or_null(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return take_or_null(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return take_or_null(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* at) noexcept { give_back(at, 1); }
void operator delete[](void* at) noexcept { give_back(at, 1); }
void operator delete(void* at, std::size_t) noexcept { give_back(at, 1); }
void operator delete[](void* at, std::size_t) noexcept { give_back(at, 1); }
void operator delete(void* at, std::nothrow_t const&) noexcept { give_back(at, 1); }
void operator delete[](void* at, std::nothrow_t const&) noexcept { give_back(at, 1); }
void operator delete(void* at, std::align_val_t alignment) noexcept {
  give_back(at, static_cast<std::size_t>(alignment));
}
void operator delete[](void* at, std::align_val_t alignment) noexcept {
  give_back(at, static_cast<std::size_t>(alignment));
}
void operator delete(void* at, std::size_t, std::align_val_t alignment) noexcept {
  give_back(at, static_cast<std::size_t>(alignment));
}
void operator delete[](void* at, std::size_t, std::align_val_t alignment) noexcept {
  give_back(at, static_cast<std::size_t>(alignment));
}
void operator delete(void* at, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  give_back(at, static_cast<std::size_t>(alignment));
}
void operator delete[](void* at, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  give_back(at, static_cast<std::size_t>(alignment));
}
