// Every field of every struct of a RunSpec, once, with its name: JSON, comparison and documents are made from this
// list. tests/unit/spec/visit_test.cpp fails when a struct has a field that is not here.
#pragma once

#include "primus/spec/run_spec.h"
#include "primus/spec/visit_train.h"

namespace primus::spec {

template <class V, FieldsOf<Identity> S>
void visit(V&& v, S& s) {
  v("work_group", s.work_group), v("user_name", s.user_name), v("experiment_name", s.experiment_name),
      v("workspace", s.workspace), v("run_folder", s.run_folder), v("framework", s.framework),
      v("model_file", s.model_file), v("module_name", s.module_name);
}

template <class V, FieldsOf<RunSpec> S>
void visit(V&& v, S& s) {
  v("identity", s.identity), v("model", s.model), v("seed", s.seed), v("batch", s.batch), v("lr", s.lr),
      v("weight_decay", s.weight_decay), v("optimizer", s.optimizer), v("loss", s.loss),
      v("logit_z_loss", s.logit_z_loss), v("precision", s.precision), v("recompute", s.recompute), v("data", s.data),
      v("tokenizer", s.tokenizer), v("evaluation", s.evaluation), v("checkpoint", s.checkpoint),
      v("logging", s.logging), v("exit", s.exit), v("parallel", s.parallel), v("finetune", s.finetune);
}

}  // namespace primus::spec
