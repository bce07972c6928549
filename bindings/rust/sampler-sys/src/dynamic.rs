//! The library opened at run time.

use std::ffi::{CStr, CString, OsStr};
use std::fmt;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Mutex;

use crate::{Functions, SAMPLER_ABI_VERSION};

// Part of the C library since glibc 2.34; an empty libdl is still there.
#[link(name = "dl")]
extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn dlerror() -> *mut c_char;
}

const RTLD_NOW: c_int = 2;

/// Why the library could not be loaded, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(String);

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

fn last_dl_error() -> LoadError {
    // SAFETY: dlerror gives NULL or a text that is valid until the thread's next call of dlfcn.h.
    let text = unsafe {
        let text = dlerror();
        if text.is_null() {
            "unknown error".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    LoadError(text)
}

/// An open library, closed when dropped.
pub(crate) struct Library(*mut c_void);

impl Library {
    /// # Safety
    ///
    /// What the file runs when it is opened must be sound.
    unsafe fn open(path: &Path) -> Result<Self, LoadError> {
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| LoadError("the path of the library contains a zero byte".into()))?;
        // SAFETY: `path` is a C string; the caller answers for the file.
        let library = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
        if library.is_null() {
            return Err(last_dl_error());
        }
        Ok(Library(library))
    }

    /// The address of what `name`, which ends in a zero byte, stands for.
    pub(crate) fn symbol(&self, name: &str) -> Result<*mut c_void, LoadError> {
        let name = CStr::from_bytes_with_nul(name.as_bytes()).expect("one zero byte, at the end");
        // SAFETY: the library is open, and `name` a C string.
        let symbol = unsafe { dlsym(self.0, name.as_ptr()) };
        if symbol.is_null() {
            return Err(last_dl_error());
        }
        Ok(symbol)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: it is open, and nothing of it is kept.
        unsafe { dlclose(self.0) };
    }
}

/// NULL until the library is loaded; then what `load` made, which is never freed.
static FUNCTIONS: AtomicPtr<Functions> = AtomicPtr::new(null_mut());
static LOADING: Mutex<()> = Mutex::new(());

/// The functions of the loaded library.
#[inline]
pub(crate) fn functions() -> &'static Functions {
    // SAFETY: `load` stores a pointer to functions that live as long as the process.
    unsafe { FUNCTIONS.load(Ordering::Acquire).as_ref() }
        .expect("libsampler is not loaded: call sampler_sys::load first")
}

/// Opens the library and finds its functions. Once that has succeeded, later calls do nothing,
/// whatever their path; the library is never closed.
///
/// `path` `None` is `libsampler.so.1`, which is looked for as the system does: in
/// `LD_LIBRARY_PATH`, then where libraries are installed. Fails when there is no such file, when it
/// has another ABI version than these declarations, or when it lacks a function.
///
/// # Safety
///
/// The file is libsampler: opening it runs its code, and its functions are called as declared here.
pub unsafe fn load(path: Option<&Path>) -> Result<(), LoadError> {
    let _loading = LOADING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !FUNCTIONS.load(Ordering::Acquire).is_null() {
        return Ok(());
    }
    let file_name = format!("libsampler.so.{SAMPLER_ABI_VERSION}");
    let path = path.unwrap_or_else(|| Path::new(OsStr::new(&file_name)));
    // SAFETY: the caller says that it is libsampler.
    let functions = unsafe {
        let library = Library::open(path)?;
        check_abi_version(path, &library)?;
        let functions = Functions::find(&library)?;
        std::mem::forget(library);
        functions
    };
    FUNCTIONS.store(Box::into_raw(Box::new(functions)), Ordering::Release);
    Ok(())
}

/// # Safety
///
/// `library` is libsampler, of any version.
unsafe fn check_abi_version(path: &Path, library: &Library) -> Result<(), LoadError> {
    let symbol = library.symbol("sampler_abi_version\0")?;
    // SAFETY: the function has this type in every version.
    let version = unsafe {
        let abi_version: unsafe extern "C" fn() -> u32 = std::mem::transmute(symbol);
        abi_version()
    };
    if version != SAMPLER_ABI_VERSION {
        return Err(LoadError(format!(
            "the ABI version of {} is {version}; it must be {SAMPLER_ABI_VERSION}",
            path.display()
        )));
    }
    Ok(())
}
