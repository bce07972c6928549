//! What the library calls back: functions at addresses that do not change.

use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use sampler_sys as sys;

/// Where the library's memory comes from, in place of the C library's.
///
/// It is called when a sampler is made or dropped, and by n-gram storages that learn: on the thread
/// of the call, and never by two threads at once for one object.
///
/// # Safety
///
/// What `allocate` returns is null, or memory of `bytes` bytes at a multiple of `alignment`, a power
/// of two, which nobody else uses until `deallocate` gets it.
pub unsafe trait Allocator: Send + Sync {
    /// Memory, or null where there is none. A panic is caught and means null.
    fn allocate(&self, bytes: usize, alignment: usize) -> *mut u8;

    /// Takes memory back. A panic is caught and dropped.
    ///
    /// # Safety
    ///
    /// `memory` came from `allocate`, with the same `bytes` and `alignment`, once.
    unsafe fn deallocate(&self, memory: *mut u8, bytes: usize, alignment: usize);
}

/// Runs the tasks of a call: see [`Options::parallel_for`](crate::Options::parallel_for).
pub type ParallelForFunction = Box<dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync>;

/// A value at an address that does not change: the library's `user`.
pub(crate) struct Hook<T>(NonNull<T>);

impl<T> Hook<T> {
    pub(crate) fn new(value: T) -> Self {
        Hook(NonNull::from(Box::leak(Box::new(value))))
    }

    pub(crate) fn user(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }
}

impl<T> Drop for Hook<T> {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and the library that used it has forgotten it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

pub(crate) type MemoryHook = Hook<Arc<dyn Allocator>>;

impl MemoryHook {
    /// For C; all 0 without one.
    pub(crate) fn raw(hook: &Option<Self>) -> sys::sampler_allocator {
        match hook {
            None => sys::sampler_allocator::INIT,
            Some(hook) => sys::sampler_allocator {
                allocate: Some(call_allocate),
                deallocate: Some(call_deallocate),
                user: hook.user(),
            },
        }
    }
}

/// What `call` gives, or `otherwise` where it panics: no panic may reach the library, not even one of
/// dropping what another panic carries.
fn caught<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| {
        std::mem::forget(payload);
        otherwise
    })
}

/// # Safety
///
/// `user` is a hook's.
unsafe extern "C" fn call_allocate(
    user: *mut c_void,
    bytes: usize,
    alignment: usize,
) -> *mut c_void {
    // SAFETY: the hook is there as long as what was made with it.
    let allocator = unsafe { &*user.cast::<Arc<dyn Allocator>>() };
    caught(null_mut(), || allocator.allocate(bytes, alignment)).cast()
}

/// # Safety
///
/// As above; `memory` came from the function above.
unsafe extern "C" fn call_deallocate(
    user: *mut c_void,
    memory: *mut c_void,
    bytes: usize,
    alignment: usize,
) {
    // SAFETY: as above.
    let allocator = unsafe { &*user.cast::<Arc<dyn Allocator>>() };
    // SAFETY: the library gives back what it got.
    caught((), || unsafe { allocator.deallocate(memory.cast(), bytes, alignment) });
}

/// A task of a call, which any threads may run until parallel_for returns.
struct Task(sys::sampler_task_fn, *mut c_void);

// SAFETY: the library makes tasks for any threads.
unsafe impl Sync for Task {}

impl Task {
    fn run(&self, index: usize) {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        // SAFETY: its memory lives until parallel_for has returned, and so does the borrow of it; an
        // index that is none is the library's to find.
        unsafe { (self.0.expect("a task"))(self.1, index) }
    }
}

/// # Safety
///
/// `user` is a hook's, and the others are the library's.
pub(crate) unsafe extern "C" fn call_parallel_for(
    user: *mut c_void,
    num_tasks: i64,
    task: sys::sampler_task_fn,
    task_user: *mut c_void,
) {
    // SAFETY: the hook is there as long as the sampler.
    let function = unsafe { &*user.cast::<ParallelForFunction>() };
    let task = Task(task, task_user);
    caught((), || function(num_tasks as usize, &|index| task.run(index)));
}
