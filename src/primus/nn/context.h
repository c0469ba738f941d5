// What a forward pass knows about its micro-batch beyond the tensors it is given.
#pragma once

#include <cstdint>

#include "primus/kernels/attention.h"
#include "primus/kernels/gemm.h"
#include "primus/tensor/prelude.h"

namespace primus::nn {

// Which routine computes products and attention: measured at start, in the run record, pinned by a resume.
struct Routes {
  kernels::GemmRoute gemm;
  kernels::AttentionRoute attention;
};

class KeyValueCache;  // cache.h
class RouterReport;   // moe.h

struct Context {
  const Routes* routes = nullptr;  // lives as long as the run
  bool training = false;           // dropout acts
  uint64_t seed = 0;               // random streams: (seed, name, step) x (sample, position, feature)
  int64_t step = 0;
  at::Tensor sample_index;         // [b] i64: global index of each row's sample; read by dropout
  at::Tensor positions;            // [b, t] i64; undefined: 0 .. t-1
  at::Tensor document_start;       // [b, t] i32: first position visible to each token; undefined: 0
  int64_t start_position = 0;      // of column 0, where `positions` is undefined; the rest is in `cache`
  KeyValueCache* cache = nullptr;  // generation: keys and values of the columns before these
  // Routers: what their auxiliary losses of this micro-batch are multiplied by before differentiation, and who hears
  // of loads and losses (null: nobody).
  double auxiliary_loss_scale = 1;
  RouterReport* router_report = nullptr;
};

}  // namespace primus::nn
