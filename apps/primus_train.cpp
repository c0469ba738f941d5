// The heavy program: links libtorch and is one rank of a job. Errors map to exit codes (docs/cli.md).
#include "primus/cli/program.h"
#include "primus/run/commands.h"
#include "primus/tensor/runtime.h"

int main(int argc, char** argv) {
  primus::tensor::configure_allocator();
  return primus::cli::run_program(argc, argv, primus::run::run_app);
}
