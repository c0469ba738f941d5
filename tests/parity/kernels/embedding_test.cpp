#include "primus/kernels/embedding.h"

#include "parity/kernels/kernel_cases.h"

#include "primus/base/check.h"
#include "primus/kernels/cast.h"

namespace primus::kernels {

namespace {

using cases::distance;
using cases::quiet;

TEST(Embedding, ForwardGathersRowsInBothTypes) {
  for (const int64_t width : cases::kWidths) {
    for (const auto table_type : {at::kFloat, at::kBFloat16}) {
      for (const auto out_type : {at::kFloat, at::kBFloat16}) {
        const at::Tensor table = quiet({23, width}, 1, table_type);
        const at::Tensor ids = at::randint(0, 23, {3, 5}, at::kLong);
        at::Tensor out = at::empty({3, 5, width}, out_type);
        embedding_forward(out, table, ids.to(width % 2 == 0 ? at::kInt : at::kLong));
        EXPECT_TRUE(at::equal(out, table.index_select(0, ids.view(-1)).view({3, 5, width}).to(out_type)));
      }
    }
  }
}

TEST(Embedding, BackwardAddsIntoTheMainGradient) {
  for (const int64_t width : cases::kWidths) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor ids = at::randint(0, 11, {4, 50}, at::kInt);  // every id many times, id 11 never
      const at::Tensor dy = quiet({4, 50, width}, 2, type);
      const at::Tensor start = quiet({12, width}, 3);
      at::Tensor grad = start.clone();
      at::Tensor expected = start.to(at::kDouble);
      embedding_backward(grad, dy, ids);
      reference::embedding_backward(expected, dy.to(at::kDouble), ids);
      EXPECT_LT(distance(grad, expected), 2e-5);
      EXPECT_TRUE(at::equal(grad[11], start[11]));
    }
  }
}

TEST(Embedding, BackwardGivesTheSameBitsWithAnyNumberOfThreads) {
  const at::Tensor ids = at::randint(0, 300, {2000}, at::kLong);
  const at::Tensor dy = quiet({2000, 129}, 4, at::kBFloat16);
  cases::expect_same_with_one_and_two_threads([&] {
    at::Tensor grad = at::zeros({300, 129});
    embedding_backward(grad, dy, ids);
    return std::vector<at::Tensor>{grad};
  });
}

TEST(Embedding, RefusesAnIdOutsideTheTable) {
  at::Tensor out = at::empty({1, 4});
  EXPECT_THROW(embedding_forward(out, at::zeros({3, 4}), at::tensor({3})), InternalError);
  EXPECT_THROW(embedding_forward(out, at::zeros({3, 4}), at::tensor({-1})), InternalError);
}

TEST(Cast, RoundsToNearestEvenAsLibtorchDoes) {
  // Every bf16 neighbourhood: exact values, ties, one above and one below a tie, infinities, NaN.
  const at::Tensor low = at::tensor({0, 1, 0x7fff, 0x8000, 0x8001, 0xffff}, at::kInt);
  const at::Tensor high = at::arange(0, 65536, at::kInt);
  const at::Tensor bits = (high.unsqueeze(1) * 65536 + low.unsqueeze(0)).to(at::kInt).contiguous();
  const at::Tensor values = bits.view({-1}).view(at::kFloat);
  const at::Tensor finite_or_inf = values.index({at::isnan(values).logical_not()});
  at::Tensor ours = at::empty_like(finite_or_inf, at::kBFloat16);
  cast_into(ours, finite_or_inf);
  EXPECT_TRUE(at::equal(ours, finite_or_inf.to(at::kBFloat16)));
  at::Tensor nans = at::empty_like(values, at::kBFloat16);
  cast_into(nans, values);
  EXPECT_TRUE(at::equal(at::isnan(nans), at::isnan(values)));
  at::Tensor back = at::empty_like(finite_or_inf);
  cast_into(back, ours);
  EXPECT_TRUE(at::equal(back, ours.to(at::kFloat)));
}

TEST(Cast, AddsAndScalesAtOddSizes) {
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{15}, int64_t{33}, int64_t{100003}}) {
    const at::Tensor a = quiet({n}, 5);
    const at::Tensor b = quiet({n}, 6, at::kBFloat16);
    at::Tensor sum = a.clone();
    add_into(sum, b);
    EXPECT_TRUE(at::equal(sum, a + b.to(at::kFloat)));
    scale_in_place(sum, 0.25);
    EXPECT_TRUE(at::equal(sum, (a + b.to(at::kFloat)) * 0.25F));
    at::Tensor half = b.clone();
    scale_in_place(half, 3.0);
    EXPECT_TRUE(at::equal(half, b * 3));
  }
}

}  // namespace

}  // namespace primus::kernels
