#include <bit>
#include <cmath>

#include "primus/base/check.h"
#include "primus/base/hash.h"
#include "primus/kernels/fixed_arithmetic.h"
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

// Natural logarithm of a positive normal number: exponent by bits, then 2 atanh(s) of the mantissa in [sqrt(1/2), sqrt(2)), s =
// (m - 1) / (m + 1), |s| < 0.1716: the series to s^21 is good to 1e-17.
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
  static constexpr double kSeries[] = {1.0,        1.0 / 3.0,  1.0 / 5.0,  1.0 / 7.0,  1.0 / 9.0, 1.0 / 11.0,
                                       1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0, 1.0 / 21.0};
  return static_cast<double>(exponent) * 0.6931471805599453 + 2.0 * s * polynomial(kSeries, t);
}

// AS 241, PPND16, beyond the centre: r = sqrt(-log(tail probability)).
double tail_quantile(double r) {
  static constexpr double kC[] = {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
                                  3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double kD[] = {1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
                                  1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
  static constexpr double kE[] = {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
                                  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double kF[] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                                  7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  if (r <= 5.0) return polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6);
  return polynomial(kE, r - 5.0) / polynomial(kF, r - 5.0);
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
  static constexpr double kA[] = {3.3871328727963666080,    1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                  1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                  3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double kB[] = {1.0,                      4.2313330701600911252e+1, 6.8718700749205790830e+2,
                                  5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                                  2.8729085735721942674e+4, 5.2264952788528545610e+3};
  PRIMUS_CHECK(p > 0 && p < 1, "inverse_normal: a probability strictly between 0 and 1");
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  const double z = tail_quantile(std::sqrt(-fixed_log(q < 0 ? p : 1.0 - p)));
  return q < 0 ? -z : z;
}

double normal_from_word(uint32_t word) { return inverse_normal((static_cast<double>(word) + 0.5) * 0x1p-32); }

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
