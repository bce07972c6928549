//! Arguments at and beyond their limits, errors, threads.

use std::sync::{Arc, Mutex};
use std::thread;

use sampler::*;

const LOGITS: [f32; 5] = [2.0, 2.5, 1.5, -1.0, 0.0];

fn small_sampler() -> Sampler {
    Sampler::builder().max_rows(4).max_cols(5).build().unwrap()
}

/// The draw of the README, at this step.
fn draw(sampler: &mut Sampler, step: u64) -> Result<i32, Error> {
    let mut token_ids = [0i32; 1];
    sampler.top_k_top_p(
        TopKTopP::new()
            .input(&LOGITS)
            .num_rows(1)
            .num_cols(5)
            .temperature(0.8)
            .top_k(3)
            .top_p(0.95)
            .seed(1)
            .offset(step)
            .out_token_ids(&mut token_ids),
    )?;
    Ok(token_ids[0])
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, status: Status, message: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.status, &error.message[..]), (status, message));
}

#[test]
fn draws_what_the_readme_says() {
    let mut sampler = small_sampler();
    let tokens: Vec<_> = (0..5)
        .map(|step| draw(&mut sampler, step).unwrap())
        .collect();
    assert_eq!(tokens, [2, 2, 1, 0, 1]);
}

#[test]
fn the_defaults_build_a_sampler_without_workspace() {
    let mut sampler = Sampler::builder().build().unwrap();
    let error = draw(&mut sampler, 0).unwrap_err();
    assert_eq!(error.status, Status::WORKSPACE_TOO_SMALL);
    assert!(error
        .message
        .starts_with("the sampler's workspace has 0 bytes; this call needs "));
}

#[test]
fn options_out_of_range_are_refused() {
    let invalid = Status::INVALID_ARGUMENT;
    let builder = Sampler::builder;
    assert_refused(
        builder().num_threads(-1).build(),
        invalid,
        "num_threads is -1; it must be at least 0",
    );
    assert_refused(
        builder().num_threads(257).build(),
        invalid,
        "num_threads is 257; it must be below 257",
    );
    assert_refused(
        builder().max_rows(1).build(),
        invalid,
        "max_rows is 1 and max_cols 0; both or neither must be 0",
    );
    assert_refused(
        builder().max_rows(i64::MAX).max_cols(1).build(),
        invalid,
        "max_rows is 9223372036854775807; it must be below 2147483648",
    );
    assert_refused(
        builder().max_rows(1).max_cols(-1).build(),
        invalid,
        "max_cols is -1; it must be at least 0",
    );
    assert_refused(
        builder().device_id(1).build(),
        invalid,
        "device_id is 1; it must be 0",
    );
    assert_refused(
        builder().device_type(DeviceType::from_raw(2)).build(),
        invalid,
        "device_type is 2; it must be one of its constants, 0 to 1",
    );
    assert_refused(
        builder().fallback_token_id(-1).build(),
        invalid,
        "fallback_token_id is -1; it must be at least 0",
    );
}

#[test]
fn cuda_is_offered_or_refused_with_the_reason() {
    let capabilities = capabilities().unwrap();
    let result = Sampler::builder().device_type(DeviceType::CUDA).build();
    if capabilities.num_cuda_devices > 0 {
        let mut sampler = result.unwrap();
        assert_refused(
            draw(&mut sampler, 0),
            Status::INVALID_ARGUMENT,
            "input is host memory; it must be memory of the sampler's CUDA device",
        );
        return;
    }
    let reason = if capabilities.cuda_compiled {
        "this machine has no CUDA device or no driver"
    } else {
        "this build has no CUDA"
    };
    let message = format!("device_type is SAMPLER_DEVICE_CUDA; {reason}");
    assert_refused(result, Status::UNSUPPORTED, &message);
}

#[test]
fn sizes_out_of_range_are_refused() {
    let mut sampler = small_sampler();
    let mut argmax = |num_rows, num_cols, row_stride| {
        let mut token_ids = [7i32; 1];
        let result = sampler.argmax(
            Argmax::new()
                .input(&LOGITS)
                .num_rows(num_rows)
                .num_cols(num_cols)
                .row_stride(row_stride)
                .out_token_ids(&mut token_ids),
        );
        assert!(token_ids == [7] || result.is_ok());
        result
    };
    let invalid = Status::INVALID_ARGUMENT;
    assert!(argmax(1, 5, 0).is_ok());
    assert!(argmax(0, 5, 0).is_ok());
    assert!(argmax(1, 5, i64::MAX).is_ok());
    assert_refused(
        argmax(-1, 5, 0),
        invalid,
        "num_rows is -1; it must be at least 0",
    );
    assert_refused(
        argmax(i64::MIN, 5, 0),
        invalid,
        "num_rows is -9223372036854775808; it must be at least 0",
    );
    assert_refused(
        argmax(1 << 31, 5, 0),
        invalid,
        "num_rows is 2147483648; it must be below 2147483648",
    );
    assert_refused(
        argmax(1, 0, 0),
        invalid,
        "num_cols is 0; it must be at least 1",
    );
    assert_refused(
        argmax(1, -5, 0),
        invalid,
        "num_cols is -5; it must be at least 1",
    );
    assert_refused(
        argmax(1, 1 << 20, 0),
        invalid,
        "num_cols is 1048576; it must be below 1048576",
    );
    assert_refused(
        argmax(1, 5, 4),
        invalid,
        "row_stride is 4; it must be 0 or at least num_cols, 5",
    );
    assert_refused(
        argmax(1, 5, -1),
        invalid,
        "row_stride is -1; it must be 0 or at least num_cols, 5",
    );
    assert_refused(
        argmax(1, 6, 0),
        invalid,
        "input has 5 elements; this call needs 6",
    );
    assert_refused(
        argmax(2, 3, 0),
        invalid,
        "input has 5 elements; this call needs 6",
    );
    assert_refused(
        argmax(2, 5, i64::MAX),
        invalid,
        "input has 5 elements; this call needs 9223372036854775812",
    );
    assert_refused(
        argmax((1 << 31) - 1, (1 << 20) - 1, i64::MAX),
        invalid,
        "input has 5 elements; this call needs 18446744073709551615",
    );
}

#[test]
fn what_is_required_is_named() {
    let mut sampler = small_sampler();
    let invalid = Status::INVALID_ARGUMENT;
    let mut args = Argmax::new();
    assert_refused(
        sampler.argmax(&args),
        invalid,
        "num_cols is 0; it must be at least 1",
    );
    args.num_rows(1).num_cols(5);
    assert_refused(
        sampler.argmax(&args),
        invalid,
        "input is NULL; it is required",
    );
    args.input(&LOGITS);
    assert_refused(
        sampler.argmax(&args),
        invalid,
        "out_token_ids is NULL; it is required",
    );
    args.candidate_counts(&[5]);
    assert_refused(
        sampler.argmax(&args),
        invalid,
        "candidate_ids is NULL; candidate_counts needs it",
    );
    args.input(&[]);
    assert_refused(
        sampler.argmax(&args),
        invalid,
        "input has 0 elements; this call needs 5",
    );
}

#[test]
fn nan_and_unknown_constants_are_refused() {
    let mut sampler = small_sampler();
    let invalid = Status::INVALID_ARGUMENT;
    let mut token_ids = [0i32; 2];
    let rows = [LOGITS, LOGITS].concat();
    let mut args = Sample::new();
    args.input(&rows)
        .num_rows(2)
        .num_cols(5)
        .out_token_ids(&mut token_ids);
    assert_refused(
        sampler.sample(args.temperature(f32::NAN)),
        invalid,
        "temperature is NaN; it must be a number",
    );
    args.temperature(1.0);
    assert_refused(
        sampler.sample(args.top_p(f32::NAN)),
        invalid,
        "top_p is NaN; it must be a number",
    );
    args.top_p(1.0);
    assert_refused(
        sampler.sample(args.min_p(f32::NAN)),
        invalid,
        "min_p is NaN; it must be a number",
    );
    args.min_p(0.0);
    let unknown = DrawMethod::from_raw(-1);
    assert_refused(
        sampler.sample(args.draw_method(unknown)),
        invalid,
        "draw_method is -1; it must be one of its constants, 0 to 1",
    );
    args.draw_method(DrawMethod::GUMBEL);
    assert_refused(
        sampler.sample(args.seed(&[1, 2, 3])),
        invalid,
        "num_seeds is 3; it must be 1 or num_rows, 2",
    );
    args.seed(5);
    // In an array, NaN makes its row bad and the call is fine.
    let mut row_status = [7u32; 2];
    args.temperature(&[f32::NAN, 0.0])
        .out_row_status(&mut row_status);
    sampler.sample(&args).unwrap();
    assert_eq!(token_ids, [-1, 1]);
    assert_eq!(row_status, [row_status::INVALID_PARAMETER, row_status::OK]);
}

#[test]
fn a_parameter_set_again_replaces_its_array() {
    let mut sampler = small_sampler();
    let (short, mut token_ids) = (vec![0.5f32], [0i32; 2]);
    let rows = [LOGITS, LOGITS].concat();
    let mut args = Sample::new();
    args.input(&rows)
        .num_rows(2)
        .num_cols(5)
        .out_token_ids(&mut token_ids)
        .temperature(&short);
    assert_refused(
        sampler.sample(&args),
        Status::INVALID_ARGUMENT,
        "temperatures has 1 elements; this call needs 2",
    );
    sampler.sample(args.temperature(0.0)).unwrap();
    assert_eq!(token_ids, [1, 1]);
}

#[test]
fn ids_of_one_member_must_have_one_type() {
    let mut sampler = small_sampler();
    let mut token_ids = [0i64; 2];
    let mut args = ChainSpeculative::new();
    args.target(&[0.5, 0.5, 0.5, 0.5])
        .target_kind(InputKind::PROBABILITIES);
    args.num_rows(1)
        .num_cols(2)
        .num_drafts(1)
        .out_token_ids(&mut token_ids);
    assert_refused(
        sampler.chain_speculative(args.draft_token_ids(&[1i32])),
        Status::INVALID_ARGUMENT,
        "draft_token_ids is SAMPLER_ID_I32 and out_token_ids SAMPLER_ID_I64; they must be the same",
    );
    sampler
        .chain_speculative(args.draft_token_ids(&[1i64]))
        .unwrap();
    assert!(token_ids[0] >= 0);
}

#[test]
fn device_arrays_are_refused_on_the_cpu() {
    let mut sampler = small_sampler();
    let mut args = Argmax::new();
    // SAFETY: the call is refused, so nothing is read there.
    let device = unsafe { Data::device(64 as *const _, 5, Dtype::F32) };
    assert_refused(
        sampler.argmax(args.num_rows(1).num_cols(5).input(device)),
        Status::INVALID_ARGUMENT,
        "input is device memory; it must be host memory",
    );
}

#[test]
fn a_workspace_is_told_to_the_byte() {
    let mut sampler = Sampler::builder().build().unwrap();
    let mut token_ids = [0i32; 1];
    let mut args = Sample::new();
    args.input(&LOGITS)
        .num_rows(1)
        .num_cols(5)
        .out_token_ids(&mut token_ids);
    let bytes = sampler.workspace_size(&args).unwrap();
    let mut workspace = vec![0u8; bytes - 1];
    assert_refused(
        sampler.sample(args.workspace(&mut workspace)),
        Status::WORKSPACE_TOO_SMALL,
        &format!("workspace_bytes is {}; this call needs {bytes}", bytes - 1),
    );
    let mut workspace = vec![0u8; bytes];
    sampler.sample(args.workspace(&mut workspace)).unwrap();
    let refused = sampler.workspace_size(args.num_cols(0));
    assert_refused(
        refused,
        Status::INVALID_ARGUMENT,
        "num_cols is 0; it must be at least 1",
    );
}

#[test]
fn a_fallback_token_stands_for_bad_rows() {
    let builder = Sampler::builder()
        .max_rows(1)
        .max_cols(5)
        .fallback_token_id(3);
    let mut sampler = builder.build().unwrap();
    let mut token_ids = [0i64; 1];
    let row = [f32::NAN; 5];
    let mut args = Argmax::new();
    sampler
        .argmax(
            args.input(&row)
                .num_rows(1)
                .num_cols(5)
                .out_token_ids(&mut token_ids),
        )
        .unwrap();
    assert_eq!(token_ids, [3]);
}

#[test]
fn eight_threads_draw_with_their_own_samplers() {
    let threads: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(|| {
                let mut sampler = small_sampler();
                for _ in 0..200 {
                    let tokens: Vec<_> = (0..5)
                        .map(|step| draw(&mut sampler, step).unwrap())
                        .collect();
                    assert_eq!(tokens, [2, 2, 1, 0, 1]);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_sampler_moves_between_threads() {
    let builder = Sampler::builder().num_threads(2).max_rows(4).max_cols(5);
    let mut sampler = builder.build().unwrap();
    for (step, token) in [2, 2, 1, 0, 1].into_iter().enumerate() {
        sampler = thread::spawn(move || {
            assert_eq!(draw(&mut sampler, step as u64), Ok(token));
            sampler
        })
        .join()
        .unwrap();
    }
}

/// The library keeps an error's text for each thread; the one that failed gets its own.
#[test]
fn errors_belong_to_the_call_that_failed() {
    let threads: Vec<_> = (1..9)
        .map(|number: i32| {
            thread::spawn(move || {
                for _ in 0..1000 {
                    let result = Sampler::builder().num_threads(-number).build();
                    let message = format!("num_threads is -{number}; it must be at least 0");
                    assert_refused(result, Status::INVALID_ARGUMENT, &message);
                    thread::yield_now();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn the_log_hears_of_samplers_and_errors() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let builder = Sampler::builder()
        .max_rows(1)
        .max_cols(5)
        .log(move |level, line| {
            log.lock().unwrap().push((level, line.to_string()));
        });
    let mut sampler = builder.build().unwrap();
    let message = sampler.argmax(&Argmax::new()).unwrap_err().message;
    // Errors that this crate finds do not reach the library.
    let short = sampler.argmax(Argmax::new().input(&LOGITS).num_rows(2).num_cols(5));
    assert!(short.is_err());
    drop(sampler);
    let lines = Arc::try_unwrap(lines).unwrap().into_inner().unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].0, LogLevel::INFO);
    assert!(lines[0].1.starts_with("sampler created on the CPU"));
    assert_eq!(lines[1], (LogLevel::ERROR, message));
}

#[test]
fn a_log_may_use_other_samplers() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let mut sampler = Sampler::builder()
        .log(move |_, line| {
            let before = line.to_string();
            Sampler::builder().num_threads(-1).build().unwrap_err();
            log.lock().unwrap().push((before, line.to_string()));
        })
        .build()
        .unwrap();
    let message = sampler.argmax(&Argmax::new()).unwrap_err().message;
    assert_eq!(message, "num_cols is 0; it must be at least 1");
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1], (message.clone(), message));
}

#[test]
fn a_log_that_panics_harms_nobody() {
    let builder = Sampler::builder()
        .max_rows(4)
        .max_cols(5)
        .log(|_, _| panic!("in the log"));
    let mut sampler = builder.build().unwrap();
    assert_eq!(draw(&mut sampler, 0), Ok(2));
    assert!(sampler.argmax(&Argmax::new()).is_err());
    assert!(Sampler::builder()
        .num_threads(-1)
        .log(|_, _| panic!("in the log"))
        .build()
        .is_err());
}

#[test]
fn capabilities_and_version() {
    let capabilities = capabilities().unwrap();
    assert_eq!(capabilities.abi_version, 0);
    assert!(capabilities.num_processors >= 1);
    assert_eq!(capabilities.isa_compiled & isa::SCALAR, isa::SCALAR);
    assert_eq!(capabilities.isa_usable & !capabilities.isa_compiled, 0);
    let (major, rest) = (capabilities.version / 10000, capabilities.version % 10000);
    assert_eq!(
        version().unwrap(),
        format!("{major}.{}.{}", rest / 100, rest % 100)
    );
}

#[test]
fn numbers_without_a_name_are_kept() {
    let status = Status::from_raw(1234);
    assert_eq!((status.raw(), status.name()), (1234, None));
    assert_eq!(status.to_string(), "Status 1234");
    assert_eq!(format!("{:?}", Dtype::BF16), "SAMPLER_BF16");
    let error = Error {
        status: Status::UNSUPPORTED,
        message: "no".into(),
    };
    assert_eq!(error.to_string(), "SAMPLER_ERROR_UNSUPPORTED: no");
}
