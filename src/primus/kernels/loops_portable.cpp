#include "primus/kernels/loops_table.h"

namespace primus::kernels::simd {

constinit const LoopTables kPortableLoops = make_tables();

}  // namespace primus::kernels::simd
