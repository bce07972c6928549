//! The stream of each call, as functions see it that stand in the library's place.
#![cfg(not(feature = "dlopen"))]

use std::os::raw::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use sampler::*;

type Pointer = *const c_void;

static STREAM: AtomicUsize = AtomicUsize::new(0);

fn record(stream: Pointer) -> i32 {
    STREAM.store(stream as usize, Ordering::Relaxed);
    0
}

#[no_mangle]
extern "C" fn sampler_argmax(_: Pointer, _: Pointer, _: Pointer, stream: Pointer) -> i32 {
    record(stream)
}

#[no_mangle]
extern "C" fn sampler_softmax(_: Pointer, _: Pointer, _: f32, _: Pointer, stream: Pointer) -> i32 {
    record(stream)
}

#[no_mangle]
extern "C" fn sampler_top_k_select(
    _: Pointer,
    _: Pointer,
    _: i64,
    _: Pointer,
    _: Pointer,
    stream: Pointer,
) -> i32 {
    record(stream)
}

#[no_mangle]
extern "C" fn sampler_chain_speculative(
    _: Pointer,
    _: Pointer,
    _: Pointer,
    _: Pointer,
    _: i64,
    _: u64,
    _: u64,
    _: Pointer,
    _: Pointer,
    _: Pointer,
    stream: Pointer,
) -> i32 {
    record(stream)
}

/// # Safety
///
/// `args` is a sampler_sample_args: struct_size, then the stream.
#[no_mangle]
unsafe extern "C" fn sampler_sample(_: Pointer, args: *const [Pointer; 2]) -> i32 {
    record((*args)[1])
}

#[test]
fn calls_are_on_the_stream_that_they_are_given() {
    let mut sampler = Sampler::new(Options::default()).unwrap();
    let rows = Rows::logits(&[0.0, 1.0], 1, 2);
    let mut check = |call: &dyn Fn(&mut Sampler) -> Result<(), Error>, expected: usize| {
        STREAM.store(1, Ordering::Relaxed);
        call(&mut sampler).unwrap();
        assert_eq!(STREAM.load(Ordering::Relaxed), expected);
    };
    let argmax = |sampler: &mut Sampler| sampler.argmax(&rows, &mut [0; 1]);
    check(&argmax, 0);
    // SAFETY: nobody looks for a stream there.
    let set_stream = |sampler: &mut Sampler| {
        sampler.set_stream(unsafe { Stream::from_raw(64) });
        Ok(())
    };
    check(&set_stream, 1);
    check(&argmax, 64);
    check(&|sampler| sampler.softmax(&rows, 1.0, &mut [0.0; 2]), 64);
    check(&|sampler| sampler.top_k_select(&rows, 1, &mut [0.0], &mut [0]), 64);
    check(
        &|sampler| {
            let none = ArrayMut::default;
            sampler.chain_speculative(
                &rows,
                None,
                Array::default(),
                0,
                0,
                0,
                &mut [0],
                none(),
                none(),
            )
        },
        64,
    );
    check(&|sampler| sampler.sample(&SampleArgs::default()), 0);
    let on_a_stream = |sampler: &mut Sampler| {
        sampler.sample(&SampleArgs {
            exec: Exec {
                // SAFETY: as above.
                stream: unsafe { Stream::from_raw(128) },
                ..Exec::default()
            },
            ..SampleArgs::default()
        })
    };
    check(&on_a_stream, 128);
}
