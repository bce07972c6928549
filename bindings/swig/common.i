/* What Go and Java share. SWIG's own types are not used for numbers: its int is 64 bits wide in Go,
 * its uint64_t a BigInteger in Java. */

/* shim_get_capabilities: ShimGetCapabilities in Go, shimGetCapabilities in Java. */
#if defined(SWIGGO)
%rename("%(camelcase)s", %$isfunction) "";
#else
%rename("%(lowercamelcase)s", %$isfunction) "";
#endif
