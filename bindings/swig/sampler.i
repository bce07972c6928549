/* The interface of the bindings' inner layers: see shim.h and regenerate.sh. */
%module Raw

%include "common.i"
#if defined(SWIGGO)
%include "go.i"
#elif defined(SWIGJAVA)
%include "java.i"
#endif

%insert(header) "shim.h"
%insert(header) "shim_operations.h"

%include "constants.i"
%include "shim_operations.h"

int32_t shim_status(shim_handle *handle);
const char *shim_error(shim_handle *handle);
void shim_destroy(shim_handle *handle);
const char *shim_status_string(int32_t status);
const char *shim_version_string(void);
