// The light program: no libtorch. Errors map to exit codes (docs/cli.md).
#include "primus/cli/app.h"
#include "primus/cli/program.h"

int main(int argc, char** argv) {
  return primus::cli::run_program(argc, argv, primus::cli::run_app);
}
