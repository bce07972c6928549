//! The sampler itself: how it is built, its workspace, and what the machine offers.

use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;

use sampler_sys as sys;

use crate::check::Place;
use crate::operations::Arguments;
use crate::{error, DeviceType, Error, LogLevel};

/// A sampler: a device, its threads and, if wanted, a workspace.
///
/// It serves one call at a time, so calls borrow it exclusively. It may move between threads
/// ([`Send`]) but cannot be shared between them (no [`Sync`]); samplers are independent of each
/// other. Dropping it stops its threads and releases its memory.
pub struct Sampler {
    pub(crate) handle: NonNull<sys::sampler_handle>,
    pub(crate) place: Place,
    // Dropped after the handle is destroyed.
    _log: Option<Log>,
}

type LogFunction = Box<dyn FnMut(LogLevel, &str) + Send>;

/// A log function at an address that does not change: the library's `log_user`.
struct Log(NonNull<LogFunction>);

impl Log {
    fn new(function: LogFunction) -> Self {
        Log(NonNull::from(Box::leak(Box::new(function))))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and the library that used it has forgotten it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

// SAFETY: a handle may move between threads, and the log function is Send.
unsafe impl Send for Sampler {}

impl Sampler {
    /// How a sampler is built. Without more: on the CPU, one thread, no workspace.
    pub fn builder() -> Builder {
        Builder {
            options: sys::sampler_options::INIT,
            log: None,
        }
    }

    /// How many bytes of workspace the call with these arguments needs: with so many it succeeds,
    /// with one fewer it fails with
    /// [`WORKSPACE_TOO_SMALL`](crate::Status::WORKSPACE_TOO_SMALL). Of the arrays only whether they
    /// are set matters.
    pub fn workspace_size<A: Arguments>(&mut self, args: &A) -> Result<usize, Error> {
        let mut bytes = 0;
        // SAFETY: the sampler is alive and serves no other call; the struct is that of the
        // operation, and the function reads no array.
        let status = unsafe {
            sys::sampler_workspace_size(self.handle.as_ptr(), A::OPERATION, args.raw(), &mut bytes)
        };
        error::check(status).map(|()| bytes)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: the handle is destroyed once, here. No work is in flight: on the CPU a call has
        // done it when it returns; who made device arrays has promised to wait.
        unsafe { sys::sampler_destroy(self.handle.as_ptr()) }
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

/// The options of a sampler, with the names of the C API.
pub struct Builder {
    options: sys::sampler_options,
    log: Option<LogFunction>,
}

impl Builder {
    /// Where the arrays of the sampler's calls live.
    pub fn device_type(mut self, device_type: DeviceType) -> Self {
        self.options.device_type = device_type.raw();
        self
    }

    /// CUDA device number, 0 the first. 0 for the CPU.
    pub fn device_id(mut self, device_id: i32) -> Self {
        self.options.device_id = device_id;
        self
    }

    /// CPU: how many rows are worked on at once, in [1, 256]. 0, the default, is 1: the caller's
    /// thread alone. The others are started by [`build`](Self::build) and sleep between calls.
    pub fn num_threads(mut self, num_threads: i32) -> Self {
        self.options.num_threads = num_threads;
        self
    }

    /// With `max_cols`, the workspace that the sampler brings: room for any operation on so many
    /// output rows. In [0, 2^31). 0 for both, the default: none, and each call brings its own.
    pub fn max_rows(mut self, max_rows: i64) -> Self {
        self.options.max_rows = max_rows;
        self
    }

    /// Columns of the rows that the workspace is for. In [0, 2^20).
    pub fn max_cols(mut self, max_cols: i64) -> Self {
        self.options.max_cols = max_cols;
        self
    }

    /// What a bad row yields as its token, instead of -1. It must lie in [0, `num_cols`) of every
    /// call on rows, in [0, 2^20) on candidate lists.
    pub fn fallback_token_id(mut self, fallback_token_id: i64) -> Self {
        self.options.fallback_token_id = fallback_token_id;
        self.options.use_fallback_token = 1;
        self
    }

    /// CUDA: the numbers per row (temperature, top_k, top_p, min_p, seed, offset) are host arrays,
    /// read before the call returns, rather than device arrays like all others.
    pub fn host_parameters(mut self, host_parameters: bool) -> Self {
        self.options.host_parameters = host_parameters.into();
        self
    }

    /// CUDA: every call checks that its arrays are memory of the device. For debugging.
    pub fn check_pointers(mut self, check_pointers: bool) -> Self {
        self.options.check_pointers = check_pointers.into();
        self
    }

    /// Takes one line about the sampler built, and about every error that the library finds in its
    /// calls; runs on the thread of the call. A panic in it is caught and dropped.
    pub fn log(mut self, log: impl FnMut(LogLevel, &str) + Send + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    /// Builds the sampler: starts its threads and allocates its workspace.
    ///
    /// Fails with `INVALID_ARGUMENT`, `ABI_MISMATCH`, `UNSUPPORTED` (no CUDA in this build or on
    /// this machine), `OUT_OF_MEMORY`, `SYSTEM` (no thread could be started, or the library not be
    /// loaded) or `CUDA`.
    pub fn build(mut self) -> Result<Sampler, Error> {
        error::ensure_loaded()?;
        let log = self.log.map(Log::new);
        if let Some(log) = &log {
            self.options.log = Some(call_log);
            self.options.log_user = log.0.as_ptr().cast();
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: the options are set up, and the log function stays where it is until the sampler
        // is dropped.
        error::check(unsafe { sys::sampler_create(&self.options, &mut handle) })?;
        Ok(Sampler {
            handle: NonNull::new(handle).expect("a sampler that was created"),
            place: Place {
                on_cuda: self.options.device_type == sys::SAMPLER_DEVICE_CUDA,
                host_parameters: self.options.host_parameters != 0,
            },
            _log: log,
        })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

/// # Safety
///
/// `user` is the log function of a sampler, which nothing else uses, `message` a C string.
unsafe extern "C" fn call_log(user: *mut c_void, level: i32, message: *const c_char) {
    // SAFETY: the library calls it within a call of the sampler, which is borrowed exclusively.
    let (log, message) = unsafe { (&mut *user.cast::<LogFunction>(), CStr::from_ptr(message)) };
    let result = catch_unwind(AssertUnwindSafe(|| {
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
    /// Bits of [`isa`](crate::isa): what is compiled in.
    pub isa_compiled: u32,
    /// What of it the machine can use.
    pub isa_usable: u32,
    /// What a sampler built now would use. 0 when the environment variable `SAMPLER_ISA` names none
    /// that is usable.
    pub isa_active: u32,
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
        isa_compiled: raw.isa_compiled,
        isa_usable: raw.isa_usable,
        isa_active: raw.isa_active,
        cuda_compiled: raw.cuda_compiled != 0,
        num_cuda_devices: raw.num_cuda_devices,
        num_processors: raw.num_processors,
    })
}

/// The version of the library as text, "0.0.1". Fails only where the library cannot be loaded.
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
        .map_err(|error| Error::new(crate::Status::SYSTEM, error.to_string()))
}
