// Between a decoder's parameters and the tensors of a Hugging Face checkpoint.
#pragma once

#include "primus/hub/hf_weights_source.h"
#include "primus/models/decoder.h"

namespace primus::train {

// Reads every piece of the decoder, each rank only the rows that it owns, straight from the mapped files. Masters must
// be allocated; compute copies of owned rows are refreshed (a sharded optimizer gathers the others). Memory beyond the
// weights: one piece in f32.
// Throws InputError for pieces that the checkpoint's family cannot hold (further predictions in most of them).
void read_hf_weights(models::Decoder& decoder, const hub::WeightSource& source);

// What FetchPiece hands out: the copy that products read (whole on every rank), or gradients. Buffers have none.
enum class PieceValues { Computed, Gradients };
// Whole pieces in f32. The decoder must outlive the result.
hub::FetchPiece piece_values(models::Decoder& decoder, PieceValues values);

}  // namespace primus::train
