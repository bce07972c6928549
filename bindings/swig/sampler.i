/* The interface of the bindings' inner layers: see shim.h and regenerate.sh. */
%module Raw

%include "common.i"
#if defined(SWIGGO)
%include "go.i"
#elif defined(SWIGJAVA)
%include "java.i"
#endif

%insert(header) "shim.h"

%include "constants.i"
%include "shim.h"
