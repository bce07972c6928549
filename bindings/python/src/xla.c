/* Custom calls of XLA: sample, filter and verify, on CPU and CUDA. Handlers run on XLA's threads,
 * without the GIL; libsampler.jax registers them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "generated.h"
#include "xla_request.h"

/* ---- Errors --------------------------------------------------------------------------------- */

static XlaError *fail(const XlaFrame *frame, int32_t code, const char *message) {
  XlaErrorCreate create = {sizeof create, NULL, message, code};
  return frame->api->error_create(&create);
}

static XlaError *fail_with(const XlaFrame *frame, sampler_status status) {
  switch (status) {
    case SAMPLER_ERROR_INVALID_ARGUMENT:
      return fail(frame, XLA_INVALID_ARGUMENT, sampler_last_error());
    case SAMPLER_ERROR_OUT_OF_MEMORY: /* that of this file, too, which sets no text */
      return fail(frame, XLA_RESOURCE_EXHAUSTED, "there is no memory for a sampler's workspace");
    case SAMPLER_ERROR_UNSUPPORTED:
      return fail(frame, XLA_UNIMPLEMENTED, sampler_last_error());
    default:
      return fail(frame, XLA_INTERNAL, sampler_last_error());
  }
}

static void forget(const XlaApi *api, XlaError *error) {
  XlaErrorDestroy destroy = {sizeof destroy, NULL, error};
  api->error_destroy(&destroy);
}

/* ---- Rows on XLA's threads ------------------------------------------------------------------ */

/* The tasks of one call. Threads of XLA's pool may start late, when all tasks are done: the last
 * one that refers to it releases it, and the call waits only for tasks that were begun. */
typedef struct Tasks {
  atomic_int references;
  _Atomic int64_t next, done;
  int64_t count;
  sampler_task_fn task;
  void *user;
  pthread_mutex_t lock;
  pthread_cond_t ended;
} Tasks;

static void release_tasks(Tasks *tasks) {
  if (atomic_fetch_sub(&tasks->references, 1) != 1) return;
  pthread_cond_destroy(&tasks->ended);
  pthread_mutex_destroy(&tasks->lock);
  free(tasks);
}

static void work(Tasks *tasks) {
  int64_t index, done = 0;
  while ((index = atomic_fetch_add(&tasks->next, 1)) < tasks->count) {
    tasks->task(tasks->user, index);
    ++done;
  }
  if (done && atomic_fetch_add(&tasks->done, done) + done == tasks->count) {
    pthread_mutex_lock(&tasks->lock);
    pthread_cond_signal(&tasks->ended);
    pthread_mutex_unlock(&tasks->lock);
  }
}

static void help(void *data) {
  work(data);
  release_tasks(data);
}

static void wait_for(Tasks *tasks) {
  pthread_mutex_lock(&tasks->lock);
  while (atomic_load(&tasks->done) < tasks->count) pthread_cond_wait(&tasks->ended, &tasks->lock);
  pthread_mutex_unlock(&tasks->lock);
}

static Tasks *new_tasks(int64_t count, sampler_task_fn task, void *user) {
  Tasks *tasks = malloc(sizeof *tasks);
  if (!tasks) return NULL;
  *tasks = (Tasks){.count = count, .task = task, .user = user};
  atomic_init(&tasks->references, 1);
  if (pthread_mutex_init(&tasks->lock, NULL)) {
    free(tasks);
    return NULL;
  }
  if (pthread_cond_init(&tasks->ended, NULL)) {
    pthread_mutex_destroy(&tasks->lock);
    free(tasks);
    return NULL;
  }
  return tasks;
}

/* ---- Samplers ------------------------------------------------------------------------------- */

/* A sampler serves one call at a time. Those that serve none wait in a list for the next call, and
 * live as long as the process. */
typedef struct Handle {
  sampler_t sampler;
  sampler_device_type device_type;
  int32_t device_id;
  int32_t num_threads;
  const XlaFrame *frame; /* of the call that it serves */
  void *workspace;       /* of the CPU; it grows only */
  size_t workspace_bytes;
  struct Handle *next;
} Handle;

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static Handle *idle_handles;

/* sampler_parallel_for_fn */
static void run_tasks(void *user, int64_t num_tasks, sampler_task_fn task, void *task_user) {
  const Handle *handle = user;
  const XlaFrame *frame = handle->frame;
  const int64_t threads = num_tasks < handle->num_threads ? num_tasks : handle->num_threads;
  Tasks *tasks = frame && threads > 1 ? new_tasks(num_tasks, task, task_user) : NULL;
  if (!tasks) {
    for (int64_t i = 0; i < num_tasks; ++i) task(task_user, i);
    return;
  }
  for (int64_t i = 1; i < threads; ++i) {
    XlaThreadPoolSchedule schedule = {sizeof schedule, NULL, frame->context, help, tasks};
    atomic_fetch_add(&tasks->references, 1);
    XlaError *error = frame->api->thread_pool_schedule(&schedule);
    if (error) {
      forget(frame->api, error);
      release_tasks(tasks);
      break;
    }
  }
  work(tasks);
  wait_for(tasks);
  release_tasks(tasks);
}

static sampler_status create_handle(sampler_device_type device_type, int32_t device_id,
                                    int32_t num_threads, Handle **out) {
  Handle *handle = calloc(1, sizeof *handle);
  if (!handle) return SAMPLER_ERROR_OUT_OF_MEMORY;
  handle->device_type = device_type;
  handle->device_id = device_id;
  handle->num_threads = num_threads;
  sampler_options options = sampler_options_default();
  options.device_type = device_type;
  options.device_id = device_id;
  if (device_type == SAMPLER_DEVICE_CPU) {
    options.num_threads = num_threads;
    options.parallel_for = run_tasks;
    options.parallel_for_user = handle;
  }
  const sampler_status status = sampler_create(&options, &handle->sampler);
  if (status != SAMPLER_OK) {
    free(handle);
    return status;
  }
  *out = handle;
  return SAMPLER_OK;
}

static sampler_status take_handle(sampler_device_type device_type, int32_t device_id,
                                  int32_t num_threads, Handle **out) {
  pthread_mutex_lock(&idle_lock);
  for (Handle **at = &idle_handles; *at; at = &(*at)->next) {
    Handle *handle = *at;
    if (handle->device_type == device_type && handle->device_id == device_id &&
        handle->num_threads == num_threads) {
      *at = handle->next;
      pthread_mutex_unlock(&idle_lock);
      *out = handle;
      return SAMPLER_OK;
    }
  }
  pthread_mutex_unlock(&idle_lock);
  return create_handle(device_type, device_id, num_threads, out);
}

static void give_handle(Handle *handle) {
  handle->frame = NULL;
  pthread_mutex_lock(&idle_lock);
  handle->next = idle_handles;
  idle_handles = handle;
  pthread_mutex_unlock(&idle_lock);
}

/* ---- Running a request ---------------------------------------------------------------------- */

/* Whether XLA's table of functions reaches to this one: older versions have fewer. */
#define OFFERS(api, function) \
  ((api)->struct_size >= offsetof(XlaApi, function) + sizeof(api)->function && (api)->function)

enum { MAX_THREADS = 256 }; /* sampler_options.num_threads */

static int32_t count_threads(const XlaFrame *frame) {
  int64_t count = 1;
  XlaThreadPoolCount get = {sizeof get, NULL, frame->context, &count};
  if (!OFFERS(frame->api, thread_pool_schedule) || !OFFERS(frame->api, thread_pool_count)) return 1;
  XlaError *error = frame->api->thread_pool_count(&get);
  if (error) {
    forget(frame->api, error);
    return 1;
  }
  return (int32_t)(count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count);
}

static sampler_status grow_workspace(Handle *handle, XlaRequest *request) {
  size_t bytes;
  const sampler_status status =
      operation_size(request->operation, handle->sampler, &request->args, &bytes);
  if (status != SAMPLER_OK) return status;
  free(handle->workspace);
  handle->workspace_bytes = 0;
  handle->workspace = malloc(bytes);
  if (!handle->workspace) return SAMPLER_ERROR_OUT_OF_MEMORY;
  handle->workspace_bytes = bytes;
  return SAMPLER_OK;
}

static sampler_status run_on_cpu(Handle *handle, XlaRequest *request) {
  sampler_status status = SAMPLER_OK;
  for (int attempt = 0; attempt < 2; ++attempt) {
    request->exec->workspace = handle->workspace;
    request->exec->workspace_bytes = handle->workspace_bytes;
    status = operation_run(request->operation, handle->sampler, &request->args);
    if (status != SAMPLER_ERROR_WORKSPACE_TOO_SMALL || attempt) break;
    status = grow_workspace(handle, request);
    if (status != SAMPLER_OK) break;
  }
  return status;
}

static XlaError *execute_on_cpu(const XlaFrame *frame, XlaRequest *request) {
  Handle *handle;
  sampler_status status = take_handle(SAMPLER_DEVICE_CPU, 0, count_threads(frame), &handle);
  if (status != SAMPLER_OK) return fail_with(frame, status);
  handle->frame = frame;
  status = run_on_cpu(handle, request);
  give_handle(handle);
  return status == SAMPLER_OK ? NULL : fail_with(frame, status);
}

/* Enqueues the call. Its workspace is freed before the work has run: XLA's allocator keeps to the
 * stream's order. */
static XlaError *enqueue(const XlaFrame *frame, XlaRequest *request, sampler_t sampler) {
  const XlaApi *api = frame->api;
  XlaMemoryAllocate allocate = {sizeof allocate, NULL, frame->context, 0, 256, NULL};
  sampler_status status =
      operation_size(request->operation, sampler, &request->args, &allocate.size);
  if (status != SAMPLER_OK) return fail_with(frame, status);
  if (allocate.size) {
    XlaError *error = api->memory_allocate(&allocate);
    if (error) return error;
  }
  request->exec->workspace = allocate.data;
  request->exec->workspace_bytes = allocate.size;
  status = operation_run(request->operation, sampler, &request->args);
  XlaError *error = status == SAMPLER_OK ? NULL : fail_with(frame, status);
  if (allocate.size) {
    XlaMemoryFree release = {sizeof release, NULL, frame->context, allocate.size, allocate.data};
    XlaError *later = api->memory_free(&release);
    if (error && later) forget(api, later);
    if (!error) error = later;
  }
  return error;
}

static XlaError *execute_on_cuda(const XlaFrame *frame, XlaRequest *request) {
  const XlaApi *api = frame->api;
  XlaStreamGet stream = {sizeof stream, NULL, frame->context, NULL};
  XlaDeviceOrdinal device = {sizeof device, NULL, frame->context, 0};
  if (!OFFERS(api, device_ordinal)) {
    return fail(frame, XLA_UNIMPLEMENTED,
                "this jaxlib does not tell the device of a call; a newer one is needed");
  }
  XlaError *error = api->stream_get(&stream);
  if (!error) error = api->device_ordinal(&device);
  if (error) return error;
  Handle *handle;
  const sampler_status status = take_handle(SAMPLER_DEVICE_CUDA, device.ordinal, 1, &handle);
  if (status != SAMPLER_OK) return fail_with(frame, status);
  request->exec->stream = (sampler_stream)stream.stream;
  error = enqueue(frame, request, handle->sampler);
  give_handle(handle);
  return error;
}

/* ---- From a frame to a request -------------------------------------------------------------- */

static const void *find_attribute(const XlaFrame *frame, const char *name, int32_t type) {
  const XlaAttributes *attributes = &frame->attributes;
  for (int64_t i = 0; i < attributes->size; ++i) {
    const XlaSpan *found = attributes->names[i];
    if (found->length == strlen(name) && memcmp(found->text, name, found->length) == 0) {
      return attributes->types[i] == type ? attributes->values[i] : NULL;
    }
  }
  return NULL;
}

static XlaBytes bytes_of(const XlaFrame *frame, const char *name) {
  const XlaArray *array = find_attribute(frame, name, XLA_ATTRIBUTE_ARRAY);
  if (!array || array->dtype != XLA_U8) return (XlaBytes){NULL, 0};
  return (XlaBytes){array->data, array->size};
}

static int flag_of(const XlaFrame *frame, const char *name) {
  const XlaScalar *scalar = find_attribute(frame, name, XLA_ATTRIBUTE_SCALAR);
  int32_t value = 0;
  if (scalar && scalar->dtype == XLA_S32) memcpy(&value, scalar->value, sizeof value);
  return value != 0;
}

/* A text where it is no call of this version. */
static const char *read_frame(const XlaFrame *frame, Operation operation, XlaRequest *out) {
  const XlaSpan *operands = find_attribute(frame, "operands", XLA_ATTRIBUTE_STRING);
  if (!operands) return "the attribute `operands` is missing";
  if (frame->arguments.size > XLA_MAX_ARGUMENTS || frame->results.size > XLA_MAX_RESULTS) {
    return "there are more arguments, or results, than any call has";
  }
  out->operation = operation;
  out->operands = *operands;
  out->num_arguments = frame->arguments.size;
  out->num_results = frame->results.size;
  for (int64_t i = 0; i < out->num_arguments; ++i) {
    if (frame->arguments.types[i] != XLA_ARGUMENT_BUFFER) return "an argument is no buffer";
    out->arguments[i] = frame->arguments.values[i];
  }
  for (int64_t i = 0; i < out->num_results; ++i) {
    if (frame->results.types[i] != XLA_RESULT_BUFFER) return "a result is no buffer";
    out->results[i] = frame->results.values[i];
  }
  out->params = bytes_of(frame, "params");
  out->pipeline = bytes_of(frame, "pipeline");
  out->acceptance = bytes_of(frame, "acceptance");
  out->is_probabilities = flag_of(frame, "probabilities");
  out->writes_values = flag_of(frame, "values");
  return NULL;
}

/* Asked for the version: XLA's own, or that of xla.h where XLA's is newer, since nothing that only
 * later versions have is used without looking for it. XLA 0.1 does not tell its version, and takes
 * that one alone. */
static XlaError *tell_version(const XlaFrame *frame) {
  XlaMetadata *metadata = ((XlaMetadataExtension *)frame->extensions)->metadata;
  const int32_t minor = frame->api ? frame->api->version.minor_version : 1;
  metadata->version =
      (XlaVersion){sizeof(XlaVersion), NULL, XLA_MAJOR, minor < XLA_MINOR ? minor : XLA_MINOR};
  metadata->traits = 0;
  if (minor >= XLA_MINOR) metadata->state_type = 0;
  return NULL;
}

static XlaError *serve(XlaFrame *frame, Operation operation, sampler_device_type device_type) {
  if (frame->extensions && frame->extensions->type == XLA_EXTENSION_METADATA) {
    return tell_version(frame);
  }
  if (frame->stage != XLA_STAGE_EXECUTE) {
    return fail(frame, XLA_INVALID_ARGUMENT, "this is a function of the execution stage");
  }
  XlaRequest request;
  const char *text = read_frame(frame, operation, &request);
  if (!text && xla_request_read(&request)) text = request.broken;
  if (text) return fail(frame, XLA_INVALID_ARGUMENT, text);
  return device_type == SAMPLER_DEVICE_CUDA ? execute_on_cuda(frame, &request)
                                            : execute_on_cpu(frame, &request);
}

#define HANDLERS(name, operation)                        \
  static XlaError *name##_on_cpu(XlaFrame *frame) {      \
    return serve(frame, operation, SAMPLER_DEVICE_CPU);  \
  }                                                      \
  static XlaError *name##_on_cuda(XlaFrame *frame) {     \
    return serve(frame, operation, SAMPLER_DEVICE_CUDA); \
  }
HANDLERS(sample, OPERATION_SAMPLE)
HANDLERS(filter, OPERATION_FILTER)
HANDLERS(verify, OPERATION_VERIFY)

static const struct {
  const char *name;
  Operation operation;
  XlaHandler *on_cpu, *on_cuda;
} targets[] = {{"sample", OPERATION_SAMPLE, sample_on_cpu, sample_on_cuda},
               {"filter", OPERATION_FILTER, filter_on_cpu, filter_on_cuda},
               {"verify", OPERATION_VERIFY, verify_on_cpu, verify_on_cuda}};
enum { NUM_TARGETS = sizeof targets / sizeof *targets };

/* ---- For libsampler.jax --------------------------------------------------------------------- */

PyObject *xla_handlers(PyObject *module, PyObject *ignored) {
  PyObject *all = PyDict_New();
  (void)module, (void)ignored;
  for (int i = 0; all && i < NUM_TARGETS; ++i) {
    PyObject *pair = Py_BuildValue("(NN)", PyCapsule_New((void *)targets[i].on_cpu, NULL, NULL),
                                   PyCapsule_New((void *)targets[i].on_cuda, NULL, NULL));
    if (!pair || PyDict_SetItemString(all, targets[i].name, pair)) Py_CLEAR(all);
    Py_XDECREF(pair);
  }
  return all;
}

PyObject *xla_numbers(PyObject *module, PyObject *object) {
  const PyTypeObject *type = Py_TYPE(object);
  (void)module;
  if (type != struct_type(&params_struct) && type != struct_type(&pipeline_struct) &&
      type != struct_type(&acceptance_params_struct)) {
    PyErr_SetString(PyExc_TypeError, "it must be Params, Pipeline or AcceptanceParams");
    return NULL;
  }
  const Fields fields = struct_fields(object);
  return PyBytes_FromStringAndSize(fields.data, (Py_ssize_t)fields.of->size);
}

/* Buffers without memory, of (dtype, shape). */
typedef struct Shapes {
  XlaBuffer buffers[XLA_MAX_ARGUMENTS];
  int64_t dims[XLA_MAX_ARGUMENTS][MAX_DIMS];
} Shapes;

static int read_shape(PyObject *pair, XlaBuffer *out, int64_t *dims) {
  PyObject *shape;
  int dtype;
  if (!PyArg_ParseTuple(pair, "iO!", &dtype, &PyTuple_Type, &shape)) return -1;
  const Py_ssize_t rank = PyTuple_Size(shape);
  if (rank > MAX_DIMS) {
    PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
                 "an array has %zd dimensions; it must have at most %d", rank, MAX_DIMS);
    return -1;
  }
  for (Py_ssize_t i = 0; i < rank; ++i) {
    if (to_i64("a dimension", PyTuple_GetItem(shape, i), &dims[i])) return -1;
  }
  *out = (XlaBuffer){sizeof *out, NULL, dtype, xla_nothing, rank, dims};
  return 0;
}

static int64_t read_shapes(PyObject *list, int64_t most, Shapes *shapes, const XlaBuffer **out) {
  const Py_ssize_t count = PyList_Size(list);
  if (count > most) {
    PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
                 "there are %zd arrays; a call has at most %lld", count, (long long)most);
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (read_shape(PyList_GetItem(list, i), &shapes->buffers[i], shapes->dims[i])) return -1;
    out[i] = &shapes->buffers[i];
  }
  return count;
}

/* Raises what the call would fail with for its shapes and numbers. */
static PyObject *check_request(XlaRequest *request) {
  Handle *handle;
  size_t bytes;
  if (xla_request_read(request)) {
    PyErr_SetString(error_of(SAMPLER_ERROR_INVALID_ARGUMENT), request->broken);
    return NULL;
  }
  sampler_status status = take_handle(SAMPLER_DEVICE_CPU, 0, 1, &handle);
  if (status == SAMPLER_ERROR_OUT_OF_MEMORY) return PyErr_NoMemory();
  if (status != SAMPLER_OK) return raise_status(status);
  status = operation_size(request->operation, handle->sampler, &request->args, &bytes);
  give_handle(handle);
  if (status != SAMPLER_OK) return raise_status(status);
  Py_RETURN_NONE;
}

PyObject *xla_check(PyObject *module, PyObject *arguments) {
  PyObject *shapes, *result_shapes, *result = NULL;
  const char *name;
  Py_ssize_t lengths[4];
  XlaRequest request = {.operation = OPERATION_UNMASK};
  (void)module;
  if (!PyArg_ParseTuple(arguments, "sO!O!s#y#y#y#pp", &name, &PyList_Type, &shapes, &PyList_Type,
                        &result_shapes, &request.operands.text, &lengths[0], &request.params.data,
                        &lengths[1], &request.pipeline.data, &lengths[2], &request.acceptance.data,
                        &lengths[3], &request.is_probabilities, &request.writes_values)) {
    return NULL;
  }
  request.operands.length = (size_t)lengths[0];
  request.params.size = (size_t)lengths[1];
  request.pipeline.size = (size_t)lengths[2];
  request.acceptance.size = (size_t)lengths[3];
  for (int i = 0; i < NUM_TARGETS; ++i) {
    if (strcmp(name, targets[i].name) == 0) request.operation = targets[i].operation;
  }
  if (request.operation == OPERATION_UNMASK) {
    PyErr_Format(PyExc_TypeError, "%s is no custom call", name);
    return NULL;
  }
  Shapes *memory = malloc(2 * sizeof *memory);
  if (!memory) return PyErr_NoMemory();
  request.num_arguments = read_shapes(shapes, XLA_MAX_ARGUMENTS, memory, request.arguments);
  if (request.num_arguments >= 0) {
    request.num_results = read_shapes(result_shapes, XLA_MAX_RESULTS, memory + 1, request.results);
    if (request.num_results >= 0) result = check_request(&request);
  }
  free(memory);
  return result;
}
