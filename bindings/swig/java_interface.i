/* Made from libsampler's headers by bindings/swig/generate_java.py; do not edit. */
%constant int SHIM_INTERFACE = 571671959;
%inline %{
static inline int32_t shim_interface(void) { return 571671959; }
%}
