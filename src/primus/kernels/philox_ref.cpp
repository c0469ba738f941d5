#include <bit>
#include <cmath>

#include "primus/base/check.h"
#include "primus/base/hash.h"
#include "primus/kernels/fixed_arithmetic.h"
#include "primus/kernels/normal_tables.h"
#include "primus/kernels/philox.h"

namespace primus::kernels {

namespace {

uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

template <size_t kSize>
double polynomial(const double (&c)[kSize], double x) {
  double sum = c[kSize - 1];
  for (size_t i = kSize - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

// Natural logarithm of a positive normal number: exponent by bits, then 2 atanh(s) of the mantissa in [sqrt(1/2),
// sqrt(2)), s = (m - 1) / (m + 1), |s| < 0.1716: the series to s^21 is good to 1e-17.
double fixed_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m > 1.4142135623730951) {
    m = m * 0.5;
    exponent += 1;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double t = s * s;
  return static_cast<double>(exponent) * 0.6931471805599453 + 2.0 * s * polynomial(kLogSeries, t);
}

// AS 241, PPND16, beyond the centre: r = sqrt(-log(tail probability)).
double tail_quantile(double r) {
  if (r <= 5.0) return polynomial(kQuantileC, r - 1.6) / polynomial(kQuantileD, r - 1.6);
  return polynomial(kQuantileE, r - 5.0) / polynomial(kQuantileF, r - 5.0);
}

}  // namespace

PhiloxKey philox_key(uint64_t seed, std::string_view name, uint64_t step) {
  const uint64_t mixed = splitmix64(splitmix64(splitmix64(seed) ^ fnv1a64(name)) ^ step);
  return {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

PhiloxCounter philox4x32(PhiloxKey key, PhiloxCounter c) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53U} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key.low, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key.high, static_cast<uint32_t>(a)};
    key.low += 0x9E3779B9U;
    key.high += 0xBB67AE85U;
  }
  return c;
}

double inverse_normal(double p) {
  PRIMUS_CHECK(p > 0 && p < 1, "inverse_normal: a probability strictly between 0 and 1");
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kQuantileA, r) / polynomial(kQuantileB, r);
  }
  const double z = tail_quantile(std::sqrt(-fixed_log(q < 0 ? p : 1.0 - p)));
  return q < 0 ? -z : z;
}

double normal_from_word(uint32_t word) {
  return inverse_normal((static_cast<double>(word) + 0.5) * 0x1p-32);
}

namespace reference {

void fill_normal(at::Tensor target, PhiloxKey key, int64_t begin, double mean, double std) {
  at::Tensor values = at::empty({target.numel()}, at::kFloat);
  auto* data = static_cast<float*>(values.data_ptr());
  for (int64_t i = 0; i < target.numel(); ++i) {
    const auto index = static_cast<uint64_t>(begin + i);
    const uint64_t counter = index / 4;
    const PhiloxCounter words =
        philox4x32(key, {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0});
    data[i] = static_cast<float>(mean + std * normal_from_word(words[index % 4]));
  }
  target.copy_(values.reshape(target.sizes()));
}

}  // namespace reference

}  // namespace primus::kernels
