/* The module _core: exceptions, what the library offers, and the types of the other files. */
#include <pthread.h>

#include "core.h"
#include "generated.h"

/* ---- Exceptions ----------------------------------------------------------------------------- */

enum { NUM_STATUSES = SAMPLER_ERROR_CORRUPT_DATA + 1 };

static PyObject *base_error, *closed_error, *status_errors[NUM_STATUSES];

typedef struct ErrorClass {
  sampler_status status;
  const char *name;
  PyObject **beside; /* a class of Python's own that it is, too */
  const char *doc;
} ErrorClass;

static const ErrorClass error_classes[] = {
    {SAMPLER_ERROR_INVALID_ARGUMENT, "libsampler.InvalidArgument", &PyExc_ValueError,
     "An argument breaks a rule of its documentation. No output was written."},
    {SAMPLER_ERROR_OUT_OF_MEMORY, "libsampler.OutOfMemory", &PyExc_MemoryError,
     "The allocator gave no memory."},
    {SAMPLER_ERROR_WORKSPACE_TOO_SMALL, "libsampler.WorkspaceTooSmall", NULL,
     "The sampler's or the call's workspace is smaller than the call needs."},
    {SAMPLER_ERROR_UNSUPPORTED, "libsampler.Unsupported", NULL,
     "This build or device does not offer what the arguments ask for."},
    {SAMPLER_ERROR_ABI_MISMATCH, "libsampler.AbiMismatch", NULL,
     "The library that was loaded has another ABI than the package was built for."},
    {SAMPLER_ERROR_SYSTEM, "libsampler.SystemFailure", NULL,
     "The system refused something, such as starting a thread."},
    {SAMPLER_ERROR_CALLBACK, "libsampler.CallbackError", NULL,
     "A callback of the caller broke its contract. The outputs are undefined."},
    {SAMPLER_ERROR_CUDA, "libsampler.CudaError", NULL,
     "CUDA reported an error. The outputs are undefined."},
    {SAMPLER_ERROR_INTERNAL, "libsampler.InternalError", NULL,
     "A fault of libsampler itself. The outputs are undefined."},
    {SAMPLER_ERROR_CORRUPT_DATA, "libsampler.CorruptData", &PyExc_ValueError,
     "Serialised data is truncated, damaged or of a newer format."}};

static PyObject *add_error(PyObject *module, const char *name, const char *doc, PyObject *bases,
                           int status) {
  PyObject *dict = Py_BuildValue("{s:i}", "status", status);
  PyObject *error = dict ? PyErr_NewExceptionWithDoc(name, doc, bases, dict) : NULL;
  Py_XDECREF(dict);
  if (error && PyModule_AddObjectRef(module, name + sizeof "libsampler", error)) Py_CLEAR(error);
  return error;
}

int add_errors(PyObject *module) {
  base_error = add_error(module, "libsampler.Error",
                         "What libsampler raises. `status` is a value of libsampler.Status; the "
                         "text names the argument, its value and the rule.",
                         NULL, 0);
  if (!base_error) return -1;
  for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; ++i) {
    const ErrorClass *class = &error_classes[i];
    PyObject *bases =
        class->beside ? PyTuple_Pack(2, base_error, *class->beside) : PyTuple_Pack(1, base_error);
    if (!bases) return -1;
    status_errors[class->status] = add_error(module, class->name, class->doc, bases, class->status);
    Py_DECREF(bases);
    if (!status_errors[class->status]) return -1;
  }
  closed_error =
      add_error(module, "libsampler.Closed", "The sampler, state, session or n-grams were closed.",
                base_error, SAMPLER_ERROR_INVALID_ARGUMENT);
  return closed_error ? 0 : -1;
}

PyObject *error_of(sampler_status status) {
  return status > 0 && status < NUM_STATUSES ? status_errors[status] : base_error;
}

PyObject *raise_status(sampler_status status) {
  PyErr_SetString(error_of(status), sampler_last_error());
  return NULL;
}

PyObject *raise_closed(const char *what) {
  PyErr_Format(closed_error, "%s is closed", what);
  return NULL;
}

/* ---- Processes ------------------------------------------------------------------------------ */

unsigned process_number = 1;

/* A call of another thread of the parent does not go on in the child. */
static void count_process(void) {
  ++process_number;
}

/* ---- Functions ------------------------------------------------------------------------------ */

static PyTypeObject *capabilities_type;

static PyStructSequence_Field capabilities_fields[] = {
    {"version", "major * 10000 + minor * 100 + patch"},
    {"abi_version", "the number in the SONAME"},
    {"isa_compiled", "instruction sets that the library has code for, bits of libsampler.ISA"},
    {"isa_usable", "those of them that this machine has"},
    {"isa_active", "the one that a sampler created now would use"},
    {"cuda_compiled", "1 when the library was built with CUDA"},
    {"num_cuda_devices", "how many devices a sampler can be created for"},
    {"num_processors", "that the calling thread may run on"},
    {NULL, NULL}};

static PyObject *capabilities(PyObject *module, PyObject *ignored) {
  sampler_capabilities c = {.struct_size = sizeof c};
  (void)module, (void)ignored;
  const sampler_status status = sampler_get_capabilities(&c);
  if (status != SAMPLER_OK) return raise_status(status);
  const uint32_t values[] = {c.version,    c.abi_version,   c.isa_compiled,     c.isa_usable,
                             c.isa_active, c.cuda_compiled, c.num_cuda_devices, c.num_processors};
  PyObject *result = PyStructSequence_New(capabilities_type);
  for (int i = 0; result && i < (int)(sizeof values / sizeof *values); ++i) {
    PyObject *value = PyLong_FromUnsignedLong(values[i]);
    if (!value) {
      Py_DECREF(result);
      return NULL;
    }
    PyStructSequence_SetItem(result, i, value);
  }
  return result;
}

static PyObject *version(PyObject *module, PyObject *ignored) {
  (void)module, (void)ignored;
  return PyUnicode_FromString(sampler_version_string());
}

static PyObject *preset_names(PyObject *module, PyObject *ignored) {
  PyObject *names = PyList_New(0);
  const char *name;
  (void)module, (void)ignored;
  for (int32_t i = 0; names && (name = sampler_preset_name(i)); ++i) {
    PyObject *text = PyUnicode_FromString(name);
    if (!text || PyList_Append(names, text)) Py_CLEAR(names);
    Py_XDECREF(text);
  }
  return names;
}

static PyObject *stage_name(PyObject *module, PyObject *stage) {
  int32_t number;
  (void)module;
  if (to_i32("stage", stage, &number)) return NULL;
  const char *name = sampler_stage_name(number);
  return name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

static PyObject *status_string(PyObject *module, PyObject *status) {
  int32_t number;
  (void)module;
  if (to_i32("status", status, &number)) return NULL;
  return PyUnicode_FromString(sampler_status_string(number));
}

static PyObject *prune_count(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"num_drafted", "num_emitted", NULL};
  PyObject *drafted, *emitted;
  int64_t num_drafted, num_emitted, target, drafter, missing;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:prune_count", names, &drafted,
                                   &emitted) ||
      to_i64("num_drafted", drafted, &num_drafted) ||
      to_i64("num_emitted", emitted, &num_emitted)) {
    return NULL;
  }
  const sampler_status status =
      sampler_prune_count(num_drafted, num_emitted, &target, &drafter, &missing);
  if (status != SAMPLER_OK) return raise_status(status);
  return Py_BuildValue("(LLL)", (long long)target, (long long)drafter, (long long)missing);
}

static PyMethodDef functions[] = {
    {"watermark_random", (PyCFunction)(void (*)(void))watermark_random,
     METH_VARARGS | METH_KEYWORDS,
     "watermark_random(key, context)\n--\n\nThe (seed, offset, stream) that DrawMethod.WATERMARK "
     "draws with after the last tokens of an output, at most 64, oldest first, -1 where it has "
     "fewer."},
    {"watermark_detect", (PyCFunction)(void (*)(void))watermark_detect,
     METH_VARARGS | METH_KEYWORDS,
     "watermark_detect(key, token_ids, context_length=4, keeps_repeated=False)\n--\n\nLooks for "
     "the watermark of a key in an output: (score, num_scored, p_value). The score is about 1 for "
     "each token scored without the watermark; the p-value is the chance that a text without it "
     "scores as much. Tokens after a context that stood there before count only if they are kept."},
    {"watermark_table", (PyCFunction)(void (*)(void))watermark_table, METH_VARARGS | METH_KEYWORDS,
     "watermark_table(params)\n--\n\nThe table of a scheme of WatermarkParams, int32, which may "
     "serve any number of calls. That of SELFHASH takes some 10 ms."},
    {"watermark_bias", (PyCFunction)(void (*)(void))watermark_bias, METH_VARARGS | METH_KEYWORDS,
     "watermark_bias(params, context, candidate_token_ids=None)\n--\n\nThe biases of green lists "
     "after the context_length last tokens, the prompt's too, oldest first: `bias` for green "
     "tokens, 0 for the others, float32. LEFTHASH: a number for each token, as of dense_bias. "
     "SELFHASH: a number for each candidate; transformers takes the 40 likeliest tokens."},
    {"watermark_tournament", (PyCFunction)(void (*)(void))watermark_tournament,
     METH_VARARGS | METH_KEYWORDS,
     "watermark_tournament(params, context, token_ids, probabilities)\n--\n\nHolds the tournament "
     "of a token's distribution: changes the probabilities of token_ids, those that the filters "
     "keep, a float32 array, into those to draw by. The context has the context_length last "
     "tokens of the output, oldest first, and 0 where it has fewer. After a context that came "
     "before in the output transformers leaves the distribution as it is: do not call it then."},
    {"watermark_score", (PyCFunction)(void (*)(void))watermark_score, METH_VARARGS | METH_KEYWORDS,
     "watermark_score(params, token_ids)\n--\n\nLooks for the watermark in an output: (score, "
     "num_scored, p_value). The score is, of green lists, the deviation of the number of green "
     "tokens from what is expected by chance, in standard deviations; of TOURNAMENT the mean of "
     "the bits, 1/2 without the watermark. Tokens with fewer than context_length tokens before "
     "them are not scored."},
    {"prune_count", (PyCFunction)(void (*)(void))prune_count, METH_VARARGS | METH_KEYWORDS,
     "prune_count(num_drafted, num_emitted)\n--\n\nWhat to cut off caches after a round of "
     "num_drafted "
     "drafts of which the first num_emitted were kept: (target, drafter, missing), tokens at the "
     "ends of the two caches, and how many drafts were kept that the drafter has not been fed."},
    {"capabilities", capabilities, METH_NOARGS,
     "capabilities()\n--\n\nWhat the library and this machine offer."},
    {"version", version, METH_NOARGS,
     "version()\n--\n\nThe version of the library that was loaded, \"0.1.0-rc1\"."},
    {"preset_names", preset_names, METH_NOARGS,
     "preset_names()\n--\n\nThe names that Params.preset takes, with their versions."},
    {"stage_name", stage_name, METH_O,
     "stage_name(stage, /)\n--\n\nThe name of a stage, \"TOP_P\"; None of what is no stage."},
    {"status_string", status_string, METH_O,
     "status_string(status, /)\n--\n\nThe name of a status in C."},
    {"_xla_handlers", xla_handlers, METH_NOARGS,
     "_xla_handlers()\n--\n\nCapsules of XLA's custom calls, {name: (of the CPU, of CUDA)}."},
    {"_xla_numbers", xla_numbers, METH_O,
     "_xla_numbers(object, /)\n--\n\nThe numbers of Params, Pipeline or AcceptanceParams as their "
     "attribute of a custom call."},
    {"_xla_check", xla_check, METH_VARARGS,
     "_xla_check(name, arguments, results, operands, params, pipeline, acceptance, probabilities, "
     "values, /)\n--\n\nRaises what a custom call with such arrays, (XLA's number of the type, "
     "shape), and attributes would fail with."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "libsampler._core",
                                        "The C API of libsampler.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

/* A library of another ABI has other structs. */
static int check_abi(void) {
  if (sampler_abi_version() == SAMPLER_ABI_VERSION) return 0;
  PyErr_Format(PyExc_ImportError, "libsampler.so has ABI %lu; this package was built for %d",
               (unsigned long)sampler_abi_version(), SAMPLER_ABI_VERSION);
  return -1;
}

static int add_capabilities_type(PyObject *module) {
  static PyStructSequence_Desc desc = {"libsampler.Capabilities",
                                       "What the library and this machine offer.",
                                       capabilities_fields, 8};
  capabilities_type = PyStructSequence_NewType(&desc);
  if (!capabilities_type) return -1;
  return PyModule_AddObjectRef(module, "Capabilities", (PyObject *)capabilities_type);
}

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void) {
  static int is_counting = 0;
  if (check_abi()) return NULL;
  if (!is_counting && pthread_atfork(NULL, NULL, count_process)) {
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  is_counting = 1;
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (add_errors(module) || add_capabilities_type(module) || add_struct_types(module) ||
      add_sampler_type(module) || add_state_type(module) || add_ngram_types(module) ||
      add_session_type(module)) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
