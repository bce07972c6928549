use std::ffi::CStr;
use std::fmt;

use sampler_sys as sys;

use crate::Status;

/// Why a call failed.
///
/// A call that fails has written nothing, unless its status says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub status: Status,
    /// One line: which argument, its value, the rule.
    pub message: String,
}

impl Error {
    pub(crate) fn new(status: Status, message: String) -> Self {
        Error { status, message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.message)
    }
}

impl std::error::Error for Error {}

/// What a function of the library returned. To be called on its thread, before any other call.
#[inline]
pub(crate) fn check(status: sys::sampler_status) -> Result<(), Error> {
    if status == sys::SAMPLER_OK {
        Ok(())
    } else {
        Err(last_error(status))
    }
}

#[cold]
fn last_error(status: sys::sampler_status) -> Error {
    // SAFETY: the text is a C string, valid until the next failing call on this thread.
    let message = unsafe { CStr::from_ptr(sys::sampler_last_error()) };
    Error::new(Status::from_raw(status), message.to_string_lossy().into_owned())
}

/// With the feature `dlopen`, loads `libsampler.so.1` unless the library is loaded already.
pub(crate) fn ensure_loaded() -> Result<(), Error> {
    #[cfg(feature = "dlopen")]
    // SAFETY: what the system finds by that name is libsampler, as for a program linked with it.
    unsafe { sys::load(None) }.map_err(|error| Error::new(Status::System, error.to_string()))?;
    Ok(())
}
