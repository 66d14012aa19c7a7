#include "daemon/case/case_work.h"

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

CaseWork::CaseWork(const CaseRequest& asked, Slot& machine) : request(asked), slot(machine) {
  report.result.seed = asked.plan.case_seed;
  report.result.op_name = asked.op.name;
  report.kernel = asked.kernel.name;
}

}  // namespace gpuemu
