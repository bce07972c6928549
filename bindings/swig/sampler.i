/* The interface of the bindings' inner layers: see shim.h and regenerate.sh. */
%module Raw

%insert(header) "shim.h"

%include "common.i"
#if defined(SWIGGO)
%include "go.i"
#elif defined(SWIGJAVA)
%include "java.i"
#endif

%include "constants.i"
%include "shim.h"
