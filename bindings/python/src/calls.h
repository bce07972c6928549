/* Methods of a sampler, with METH_FASTCALL and METH_KEYWORDS. */
#ifndef LIBSAMPLER_PYTHON_CALLS_H
#define LIBSAMPLER_PYTHON_CALLS_H

#include "members.h"

#define DECLARE(name)                                                                 \
  PyObject *call_##name(PyObject *self, PyObject *const *arguments, Py_ssize_t count, \
                        PyObject *names)

DECLARE(sample);
DECLARE(score);
DECLARE(filter);
DECLARE(select);
DECLARE(verify);
DECLARE(residual);
DECLARE(unmask);
DECLARE(sample_workspace_size);
DECLARE(score_workspace_size);
DECLARE(filter_workspace_size);
DECLARE(select_workspace_size);
DECLARE(verify_workspace_size);
DECLARE(residual_workspace_size);
DECLARE(unmask_workspace_size);

DECLARE(argmax);
DECLARE(categorical);
DECLARE(top_k);
DECLARE(top_p);
DECLARE(min_p);
DECLARE(top_k_top_p);
DECLARE(softmax);
DECLARE(top_k_renorm);
DECLARE(top_p_renorm);
DECLARE(top_k_mask);
DECLARE(top_k_select);
DECLARE(chain_speculative);

#undef DECLARE

#endif
