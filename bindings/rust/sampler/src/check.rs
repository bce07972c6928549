//! Whether the arrays of a call are as long as the library takes them to be, and on its side.
//!
//! The library checks all else. What it refuses whatever the arrays are, such as a stride below
//! `num_cols`, needs no right length here: it reads nothing then.

use crate::array::{Lent, Memory};
use crate::{Error, Status};

/// Where a sampler's arrays are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) on_cuda: bool,
    pub(crate) host_parameters: bool,
}

impl Place {
    /// Where the arrays are that `host_parameters` is about.
    pub(crate) fn of_parameters(self) -> Self {
        Place { on_cuda: self.on_cuda && !self.host_parameters, ..self }
    }

    /// The address of an array that has at least `needed` elements, or is none. `of` is the struct
    /// that it is a member of, "" the arguments themselves.
    pub(crate) fn array<T>(
        self,
        of: &str,
        name: &str,
        array: &impl Lent,
        needed: usize,
    ) -> Result<*mut T, Error> {
        let memory = array.memory();
        let fits = memory.len >= needed && memory.on_device == self.on_cuda;
        if fits || array.is_none() {
            Ok(memory.address.cast())
        } else {
            Err(refusal(of, name, memory, needed, self.on_cuda))
        }
    }
}

#[cold]
fn refusal(of: &str, name: &str, memory: Memory, needed: usize, on_device: bool) -> Error {
    let (dot, needs) = match of {
        "" => ("", "this call"),
        _ => (".", of),
    };
    let reason = if memory.on_device == on_device {
        format!("has {} elements; {needs} needs {needed}", memory.len)
    } else if on_device {
        "is host memory; it must be memory of the sampler's CUDA device".into()
    } else {
        "is device memory; it must be host memory".into()
    };
    invalid_argument(format!("{of}{dot}{name} {reason}"))
}

pub(crate) fn invalid_argument(message: String) -> Error {
    Error::new(Status::InvalidArgument, message)
}

/// From the first element of the first of `count` blocks to the last of the last. What exceeds
/// usize is usize::MAX, which no array has.
pub(crate) fn extent(count: usize, block: usize, stride: usize) -> usize {
    match count {
        0 => 0,
        _ => (count - 1).saturating_mul(stride).saturating_add(block),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Array, ArrayMut};

    fn place(on_cuda: bool, host_parameters: bool) -> Place {
        Place { on_cuda, host_parameters }
    }

    fn message<T>(result: Result<T, Error>) -> String {
        result.map(|_| ()).unwrap_err().message
    }

    #[test]
    fn what_is_too_short_is_named() {
        let cpu = place(false, false);
        let array = Array::<i32>::from(&[0, 0]);
        assert!(cpu.array::<i32>("", "slots", &array, 2).is_ok());
        assert_eq!(
            message(cpu.array::<i32>("", "slots", &array, 3)),
            "slots has 2 elements; this call needs 3"
        );
        assert_eq!(
            message(cpu.of_parameters().array::<i32>("row_params", "top_k", &array, 3)),
            "row_params.top_k has 2 elements; row_params needs 3"
        );
        let none = ArrayMut::<u32>::default();
        assert!(cpu.array::<u32>("", "out_row_status", &none, 3).is_ok());
    }

    #[test]
    fn arrays_are_on_the_samplers_side() {
        let host = Array::<i32>::from(&[0]);
        // SAFETY: nobody reads it.
        let device = unsafe { Array::<i32>::device(64 as *const i32, 1) };
        let on_host = |place: Place| place.array::<i32>("", "slots", &host, 1);
        let on_device = |place: Place| place.array::<i32>("", "slots", &device, 1);
        for host_parameters in [false, true] {
            let (cpu, cuda) = (place(false, host_parameters), place(true, host_parameters));
            assert!(on_host(cpu).is_ok() && on_device(cuda).is_ok());
            assert_eq!(message(on_device(cpu)), "slots is device memory; it must be host memory");
            assert_eq!(
                message(on_host(cuda)),
                "slots is host memory; it must be memory of the sampler's CUDA device"
            );
            let parameter = if host_parameters { host } else { device };
            let other = if host_parameters { device } else { host };
            let is_taken = |array| cuda.of_parameters().array::<i32>("", "top_k", array, 1).is_ok();
            assert!(is_taken(&parameter) && !is_taken(&other));
            assert!(cpu.of_parameters().array::<i32>("", "top_k", &host, 1).is_ok());
            assert!(cpu.of_parameters().array::<i32>("", "top_k", &device, 1).is_err());
        }
    }

    #[test]
    fn extents() {
        assert_eq!(extent(0, 5, 8), 0);
        assert_eq!(extent(3, 5, 8), 21);
        assert_eq!(extent(2, 5, 1 << 63), (1 << 63) + 5);
        assert_eq!(extent(9, 5, 1 << 63), usize::MAX);
        assert_eq!(extent(2, usize::MAX, 1), usize::MAX);
    }
}
