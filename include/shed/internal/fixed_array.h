// An array whose size is fixed when it is made.
#ifndef SHED_INTERNAL_FIXED_ARRAY_H_
#define SHED_INTERNAL_FIXED_ARRAY_H_

#include <cstddef>
#include <utility>

namespace shed::internal {

// On the heap, every element as T() makes it; the elements of a const array may change, as those of
// a std::unique_ptr may. Allocates once, and may throw std::bad_alloc. <vector> and <memory> would
// do as well, and cost a file that includes shed a third of what the rest of it costs.
template <class T>
class FixedArray {
 public:
  explicit FixedArray(std::size_t size) : size_(size), elements_(new T[size]()) {}
  FixedArray(const FixedArray&) = delete;
  FixedArray& operator=(const FixedArray&) = delete;
  ~FixedArray() { delete[] elements_; }

  void Swap(FixedArray& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(elements_, other.elements_);
  }

  std::size_t size() const noexcept { return size_; }
  T* data() const noexcept { return elements_; }
  T& operator[](std::size_t i) const noexcept { return elements_[i]; }
  T* begin() const noexcept { return elements_; }
  T* end() const noexcept { return elements_ + size_; }

 private:
  std::size_t size_;
  T* elements_;
};

}  // namespace shed::internal

#endif  // SHED_INTERNAL_FIXED_ARRAY_H_
