//! The sampler itself: how it is built, its workspace, and what the machine offers.

use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use sampler_sys as sys;

use crate::check::Place;
use crate::hooks::{call_parallel_for, Hook, MemoryHook, ParallelForFunction};
use crate::views::{to_c, Stream};
use crate::{error, Allocator, DeviceType, Error, Isa, LogLevel};

/// A sampler: a device, its threads and, if wanted, a workspace.
///
/// It serves one call at a time, so calls borrow it exclusively. It may move between threads
/// ([`Send`]) but cannot be shared between them (no [`Sync`]); samplers are independent of each
/// other. Dropping it stops its threads and releases its memory, unless there are
/// [states](crate::State) of it: then the last of them does.
pub struct Sampler {
    pub(crate) handle: NonNull<sys::sampler_handle>,
    pub(crate) place: Place,
    pub(crate) stream: Stream,
    pub(crate) owner: Arc<Owner>,
}

/// Destroys the handle when neither the sampler nor a state of it is there any more.
pub(crate) struct Owner {
    handle: NonNull<sys::sampler_handle>,
    // Dropped after the handle is destroyed.
    _log: Option<Hook<Mutex<LogFunction>>>,
    _parallel_for: Option<Hook<ParallelForFunction>>,
    _allocator: Option<MemoryHook>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: the handle is destroyed once, here, after its states. No work is in flight: on the
        // CPU a call has done it when it returns; who made device arrays has promised to wait.
        unsafe { sys::sampler_destroy(self.handle.as_ptr()) }
    }
}

// SAFETY: it does nothing but destroy the handle, on whichever thread, and the hooks are Send.
unsafe impl Send for Owner {}
unsafe impl Sync for Owner {}

/// What hears of a sampler.
pub type LogFunction = Box<dyn FnMut(LogLevel, &str) + Send>;

// SAFETY: a handle may move between threads, and the hooks are Send.
unsafe impl Send for Sampler {}

impl Sampler {
    /// Builds a sampler: starts its threads and allocates its workspace.
    ///
    /// Fails with `InvalidArgument`, `AbiMismatch`, `Unsupported` (no CUDA in this build or on
    /// this machine), `OutOfMemory`, `System` (no thread could be started, or the library not be
    /// loaded) or `Cuda`.
    pub fn new(options: Options) -> Result<Sampler, Error> {
        error::ensure_loaded()?;
        let log = options.log.map(|log| Hook::new(Mutex::new(log)));
        let parallel_for = options.parallel_for.map(Hook::new);
        let allocator = options.allocator.map(Hook::new);
        let mut raw = sys::sampler_options {
            device_type: options.device_type.raw(),
            device_id: options.device_id,
            num_threads: options.num_threads,
            max_rows: to_c(options.max_rows),
            max_cols: to_c(options.max_cols),
            fallback_token_id: options.fallback_token_id.unwrap_or(0),
            use_fallback_token: options.fallback_token_id.is_some().into(),
            host_parameters: options.host_parameters.into(),
            check_pointers: options.check_pointers.into(),
            ..sys::sampler_options::INIT
        };
        if let Some(log) = &log {
            raw.log = Some(call_log);
            raw.log_user = log.user();
        }
        if let Some(parallel_for) = &parallel_for {
            raw.parallel_for = Some(call_parallel_for);
            raw.parallel_for_user = parallel_for.user();
        }
        raw.allocator = MemoryHook::raw(&allocator);
        let mut handle = std::ptr::null_mut();
        // SAFETY: the options are set up, and the hooks stay where they are until the sampler is
        // dropped.
        error::check(unsafe { sys::sampler_create(&raw, &mut handle) })?;
        let handle = NonNull::new(handle).expect("a sampler that was created");
        Ok(Sampler {
            handle,
            place: Place {
                on_cuda: options.device_type == DeviceType::Cuda,
                host_parameters: options.host_parameters,
            },
            stream: Stream::default(),
            owner: Arc::new(Owner {
                handle,
                _log: log,
                _parallel_for: parallel_for,
                _allocator: allocator,
            }),
        })
    }

    /// The stream of the simple calls, at first the legacy default stream. Full calls have theirs
    /// in [`Exec`](crate::Exec).
    pub fn set_stream(&mut self, stream: Stream) {
        self.stream = stream;
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler").field("handle", &self.handle).finish_non_exhaustive()
    }
}

/// The options of a sampler. By default it is on the CPU, with one thread and no workspace.
#[derive(Default)]
pub struct Options {
    /// Where the arrays of the sampler's calls live.
    pub device_type: DeviceType,
    /// CUDA device number, 0 the first. 0 for the CPU.
    pub device_id: i32,
    /// CPU: how many rows are worked on at once, in [1, 256]; 0 is 1, the caller's thread alone. The
    /// others are started by [`Sampler::new`] and sleep between calls.
    pub num_threads: i32,
    /// The workspace that the sampler brings: room for any operation on up to `max_rows` output rows
    /// of up to `max_cols` columns, but for calls that need more, such as those with stages or with
    /// reports of verified tokens: `sampler/handle.h` lists them. 0 and 0: none, and each call
    /// brings its own. In [0, 2^31).
    pub max_rows: usize,
    /// In [0, 2^20).
    pub max_cols: usize,
    /// What a bad row yields as its token, instead of -1. It must lie in [0, `num_cols`) of every
    /// call on rows, in [0, 2^20) on candidate lists.
    pub fallback_token_id: Option<i64>,
    /// CUDA: the arrays of `row_params` and `random`, and `selected_counts`, are host arrays, read
    /// before the call returns, rather than device arrays like all others.
    pub host_parameters: bool,
    /// CUDA: every call checks that its arrays are memory of the device. For debugging.
    pub check_pointers: bool,
    /// Takes one line about the sampler built, and about every error that the library finds in its
    /// calls; runs on the thread of the call. A panic in it is caught and dropped.
    pub log: Option<LogFunction>,
    /// Runs a call's tasks on the caller's threads instead of the sampler's. It gets their number
    /// and a task, to be run exactly once with each index below that number, in any order and on any
    /// threads; where that is not so, as after a panic in it, the call fails with `Callback`.
    pub parallel_for: Option<ParallelForFunction>,
    /// Memory for the sampler and its workspace. None: the C library's.
    pub allocator: Option<Arc<dyn Allocator>>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

/// # Safety
///
/// `user` is the log function of a sampler, `message` a C string.
unsafe extern "C" fn call_log(user: *mut c_void, level: i32, message: *const c_char) {
    // SAFETY: the function is there until the sampler and its states are gone.
    let (log, message) = unsafe { (&*user.cast::<Mutex<LogFunction>>(), CStr::from_ptr(message)) };
    let result = catch_unwind(AssertUnwindSafe(|| {
        // A state may be dropped on another thread than that of the sampler's call.
        let mut log = log.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        log(LogLevel::from_raw(level), &message.to_string_lossy());
    }));
    // A panic must not reach the library, not even one of dropping what another panic carries.
    if let Err(payload) = result {
        std::mem::forget(payload);
    }
}

/// What the library and the machine offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Version of the library: major * 10000 + minor * 100 + patch.
    pub version: u32,
    /// Number of its ABI.
    pub abi_version: u32,
    /// What is compiled in.
    pub isa_compiled: Isa,
    /// What of it the machine can use.
    pub isa_usable: Isa,
    /// What a sampler built now would use. None when the environment variable `SAMPLER_ISA` names none
    /// that is usable.
    pub isa_active: Isa,
    /// Whether the library was built with CUDA.
    pub cuda_compiled: bool,
    /// How many CUDA devices a sampler can be built for.
    pub num_cuda_devices: u32,
    /// Processors that the calling thread may run on, at least 1.
    pub num_processors: u32,
}

/// Asks what the library and the machine offer. The first call may start CUDA's runtime.
pub fn capabilities() -> Result<Capabilities, Error> {
    error::ensure_loaded()?;
    let mut raw = sys::sampler_capabilities::INIT;
    // SAFETY: fills a struct of the size that it says.
    error::check(unsafe { sys::sampler_get_capabilities(&mut raw) })?;
    Ok(Capabilities {
        version: raw.version,
        abi_version: raw.abi_version,
        isa_compiled: raw.isa_compiled.into(),
        isa_usable: raw.isa_usable.into(),
        isa_active: raw.isa_active.into(),
        cuda_compiled: raw.cuda_compiled != 0,
        num_cuda_devices: raw.num_cuda_devices,
        num_processors: raw.num_processors,
    })
}

/// The version of the library as text, "0.1.0-rc1". Fails only where the library cannot be loaded.
pub fn version() -> Result<&'static str, Error> {
    error::ensure_loaded()?;
    // SAFETY: a static C string.
    let version = unsafe { CStr::from_ptr(sys::sampler_version_string()) };
    Ok(version.to_str().expect("digits and dots"))
}

/// Loads the library from this file rather than by its name. Does nothing when the library is
/// loaded already: by an earlier call, a sampler built, or [`capabilities`] or [`version`].
///
/// # Safety
///
/// The file is libsampler: opening it runs its code.
#[cfg(feature = "dlopen")]
pub unsafe fn load(path: &std::path::Path) -> Result<(), Error> {
    // SAFETY: the caller says that it is libsampler.
    unsafe { sys::load(Some(path)) }
        .map_err(|error| Error::new(crate::Status::System, error.to_string()))
}
