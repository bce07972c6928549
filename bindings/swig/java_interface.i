/* Made from libsampler's headers by bindings/swig/generate_java.py; do not edit. */
%constant int SHIM_INTERFACE = 527609502;
%inline %{
static inline int32_t shim_interface(void) { return 527609502; }
%}
