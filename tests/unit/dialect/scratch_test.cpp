#include <gtest/gtest.h>
#include <cstdio>
#include <filesystem>
#include <map>
#include "experiment.h"
#include "primus/dialect/proxy.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"
using namespace primus; using namespace primus::dialect;
TEST(Scratch, Prints) {
  std::map<std::string,int> msgs; int ok=0,bad=0,load=0,pok=0;
  for (auto& f : std::filesystem::recursive_directory_iterator("/tmp/dlct/examples/megatron")) {
    if (f.path().extension()!=".yaml") continue;
    config::LoadOptions o; o.path=f.path(); o.presets_root="/tmp/dlct"; o.environment=environment_of({});
    auto e=config::load_experiment(o);
    if(!e.ok()){load++; printf("LOAD %s\n%s\n",f.path().c_str(),render(e.diagnostics()).c_str()); continue;}
    if(e->main_module().framework!="megatron") continue;
    auto run=to_spec(*e);
    if(run.ok()){ok++; printf("OK %s\n",f.path().filename().c_str());
      auto e2=*e; auto c=apply_proxy(e2); auto s=to_spec(e2);
      if(s.ok()) {pok++; printf("   %.3g flops %ld steps\n", spec::flops_per_token(s->model, s->data.sequence_length)*s->data.sequence_length*s->batch.global_batch_size*s->exit.train_steps,(long)s->exit.train_steps);} else printf("PROXY %s\n",render(s.diagnostics()).c_str());
      for (auto&d:run.diagnostics()) if(d.severity==Severity::Warning) msgs["W "+d.key+": "+d.message]++;}
    else {bad++; for (auto&d:run.diagnostics()) if(d.severity==Severity::Error) {msgs[d.key+": "+d.message]++; }}
  }
  printf("ok %d proxyok %d bad %d load %d\n",ok,pok,bad,load);
  for(auto&[m,n]:msgs) printf("%4d %s\n",n,m.c_str());
}
