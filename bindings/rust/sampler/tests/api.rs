//! Arguments at and beyond their limits, simple calls beside full ones, errors, threads.

use std::sync::{Arc, Mutex};
use std::thread;

use sampler::*;

const LOGITS: [f32; 5] = [2.0, 2.5, 1.5, -1.0, 0.0];

fn options() -> Options {
    Options { max_rows: 4, max_cols: 5, ..Options::default() }
}

fn small_sampler() -> Sampler {
    Sampler::new(options()).unwrap()
}

/// The draw of the README, at this step.
fn draw(sampler: &mut Sampler, step: u64) -> Result<i32, Error> {
    let mut token_ids = [0; 1];
    let logits = Rows::logits(&LOGITS, 1, 5);
    sampler.top_k_top_p(&logits, 3, 0.95, 0.8, 1, step, &mut token_ids)?;
    Ok(token_ids[0])
}

/// A call without its input.
fn sample_nothing(sampler: &mut Sampler) -> Result<(), Error> {
    sampler.sample(&SampleArgs::default())
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, message: &str) {
    let error = result.unwrap_err();
    let refused = (Status::InvalidArgument, message);
    assert_eq!((error.status, &error.message[..]), refused);
}

#[test]
fn draws_what_the_readme_says() {
    let mut sampler = small_sampler();
    let tokens: Vec<_> = (0..5).map(|step| draw(&mut sampler, step).unwrap()).collect();
    assert_eq!(tokens, [2, 2, 1, 0, 1]);
}

#[test]
fn the_defaults_build_a_sampler_without_workspace() {
    let mut sampler = Sampler::new(Options::default()).unwrap();
    let error = draw(&mut sampler, 0).unwrap_err();
    assert_eq!(error.status, Status::WorkspaceTooSmall);
    assert!(error.message.starts_with("the sampler's workspace has 0 bytes; this call needs "));
}

#[test]
fn options_out_of_range_are_refused() {
    let refused = |options: Options, message: &str| assert_refused(Sampler::new(options), message);
    refused(Options { num_threads: -1, ..options() }, "num_threads is -1; it must be at least 0");
    refused(Options { num_threads: 257, ..options() }, "num_threads is 257; it must be below 257");
    refused(
        Options { max_cols: 0, ..options() },
        "max_rows is 4 and max_cols 0; both or neither must be 0",
    );
    refused(
        Options { max_rows: usize::MAX, ..options() },
        "max_rows is 9223372036854775807; it must be below 2147483648",
    );
    refused(Options { device_id: 1, ..options() }, "device_id is 1; it must be 0");
    refused(
        Options { device_type: DeviceType::from(2), ..options() },
        "device_type is 2; it must be one of its constants, 0 to 1",
    );
    refused(
        Options { fallback_token_id: Some(-1), ..options() },
        "fallback_token_id is -1; it must be at least 0",
    );
}

#[test]
fn cuda_is_offered_or_refused_with_the_reason() {
    let capabilities = capabilities().unwrap();
    let result = Sampler::new(Options { device_type: DeviceType::Cuda, ..options() });
    if capabilities.num_cuda_devices > 0 {
        assert_refused(
            draw(&mut result.unwrap(), 0),
            "input.values is host memory; it must be memory of the sampler's CUDA device",
        );
        return;
    }
    let reason = if capabilities.cuda_compiled {
        "this machine has no CUDA device or no driver"
    } else {
        "this build has no CUDA"
    };
    let error = result.unwrap_err();
    let message = format!("device_type is SAMPLER_DEVICE_CUDA; {reason}");
    assert_eq!((error.status, error.message), (Status::Unsupported, message));
}

#[test]
fn sizes_out_of_range_are_refused() {
    let mut sampler = small_sampler();
    let mut argmax = |num_rows, num_cols, row_stride| {
        let mut token_ids = [7; 1];
        let logits = Rows { row_stride, ..Rows::logits(&LOGITS, num_rows, num_cols) };
        let result = sampler.argmax(&logits, &mut token_ids);
        assert!(token_ids == [7] || result.is_ok());
        result
    };
    assert!(argmax(1, 5, 0).is_ok());
    assert!(argmax(0, 5, 0).is_ok());
    assert!(argmax(1, 5, i64::MAX as usize).is_ok());
    assert_refused(argmax(1, 0, 0), "input->num_cols is 0; it must be at least 1");
    assert_refused(
        argmax(1, 5, 4),
        "input->row_stride is 4; it must be 0 or at least input->num_cols, 5",
    );
    let needs = |needed: &str| format!("input.values has 5 elements; input needs {needed}");
    assert_refused(argmax(1, 6, 0), &needs("6"));
    assert_refused(argmax(2, 3, 0), &needs("6"));
    assert_refused(argmax(1, usize::MAX, 0), &needs("18446744073709551615"));
    assert_refused(argmax(2, 5, 1 << 63), &needs("9223372036854775813"));
    assert_refused(argmax(usize::MAX, 5, 0), &needs("18446744073709551615"));
    assert_refused(argmax(usize::MAX, 1, usize::MAX), &needs("18446744073709551615"));
}

#[test]
fn sizes_of_verification_out_of_range_are_refused() {
    let mut sampler = small_sampler();
    let mut verify = |num_rows, num_drafts: usize, target_stride, draft_stride| {
        let mut token_ids = [7i32; 4];
        let result = sampler.verify(&VerifyArgs {
            target: Rows::logits(&[0.0; 8], num_rows, 2),
            draft: Some(Rows::logits(&[0.0; 4], num_rows / 2 * num_drafts.min(1), 2)),
            layout: DraftLayout {
                target_sequence_stride: target_stride,
                draft_sequence_stride: draft_stride,
                ..DraftLayout::default()
            },
            draft_token_ids: (&[0i32, 1]).into(),
            num_drafts,
            out_token_ids: (&mut token_ids).into(),
            ..VerifyArgs::default()
        });
        assert!(token_ids == [7; 4] || result.is_ok());
        result
    };
    assert!(verify(4, 1, 0, 0).is_ok());
    assert!(verify(4, 1, 4, 2).is_ok());
    assert!(verify(4, 0, 0, 9).is_ok()); // no draft, whatever lies between
    let has = |name: &str, len: usize, of: &str, needed: &str| {
        format!("{name} has {len} elements; {of} needs {needed}")
    };
    assert_refused(verify(6, 1, 0, 0), &has("target.values", 8, "target", "12"));
    assert_refused(verify(4, 1, 5, 0), &has("target.values", 8, "target", "9"));
    assert_refused(verify(4, 1, 0, 3), &has("draft.values", 4, "draft", "5"));
    assert_refused(
        verify(4, 1, usize::MAX, 0),
        &has("target.values", 8, "target", "18446744073709551615"),
    );
    assert_refused(
        verify(4, usize::MAX, 0, 0),
        "num_drafts is 9223372036854775807; it must be below 65536",
    );
    assert_refused(
        verify(3, 1, 0, 0),
        "target.num_rows is 3; it must be a multiple of num_drafts + 1, 2",
    );
}

#[test]
fn what_is_required_is_named() {
    let mut sampler = small_sampler();
    let mut args = SampleArgs::default();
    assert_refused(sampler.sample(&args), "input.num_cols is 0; it must be at least 1");
    args.input = Rows { num_rows: 1, num_cols: 5, ..Rows::default() };
    assert_refused(sampler.sample(&args), "input.values is NULL; it is required");
    args.input.values = (&LOGITS).into();
    assert_refused(sampler.sample(&args), "out_token_ids is NULL; it is required");
    let none: [f32; 0] = [];
    args.input.values = (&none).into();
    assert_refused(sampler.sample(&args), "input.values has 0 elements; input needs 5");
}

#[test]
fn nan_and_unknown_constants_are_refused() {
    let mut sampler = small_sampler();
    let mut refused = |params, message| {
        let mut token_ids = [0i32; 1];
        let args = SampleArgs {
            input: Rows::logits(&LOGITS, 1, 5),
            params,
            out_token_ids: (&mut token_ids).into(),
            ..SampleArgs::default()
        };
        assert_refused(sampler.sample(&args), message);
    };
    let default = Params::default;
    refused(
        Params { temperature: f32::NAN, ..default() },
        "params->temperature is NaN; it must be a number",
    );
    refused(Params { top_p: f32::NAN, ..default() }, "params->top_p is NaN; it must be a number");
    refused(Params { min_p: f32::NAN, ..default() }, "params->min_p is NaN; it must be a number");
    refused(
        Params { filter_order: FilterOrder::from(-1), ..default() },
        "params->filter_order is -1; it must be one of its constants, 0 to 2",
    );
}

#[test]
fn arrays_are_indexed_by_slot() {
    let mut sampler = small_sampler();
    let rows = [LOGITS, LOGITS].concat();
    let (slots, temperatures, streams) = ([2, 0], [f32::NAN, 1.0, 0.0], [5, 6, 7]);
    let (mut token_ids, mut row_status) = ([0i32; 2], [RowStatus::from(77); 2]);
    let mut args = SampleArgs {
        input: Rows::logits(&rows, 2, 5),
        slots: (&slots).into(),
        num_slots: 3,
        row_params: RowParams { temperature: (&temperatures).into(), ..RowParams::default() },
        random: Random { streams: (&streams).into(), ..Random::default() },
        out_token_ids: (&mut token_ids).into(),
        out_row_status: (&mut row_status).into(),
        ..SampleArgs::default()
    };
    sampler.sample(&args).unwrap();
    args.num_slots = 4;
    assert_refused(
        sampler.sample(&args),
        "row_params.temperature has 3 elements; row_params needs 4",
    );
    args.row_params = RowParams::default();
    assert_refused(sampler.sample(&args), "random.streams has 3 elements; random needs 4");
    args.random.streams = Array::default();
    args.slots = (&slots[..1]).into();
    assert_refused(sampler.sample(&args), "slots has 1 elements; this call needs 2");
    args.slots = (&slots).into();
    args.random.seeds = (&[1, 2, 3]).into();
    assert_refused(
        sampler.sample(&args),
        "random.num_seeds is 3; it must be 1 or the number of slots, 4",
    );
    assert_eq!(token_ids, [1, -1]);
    assert_eq!(row_status, [RowStatus::OK, RowStatus::INVALID_PARAMETER]);
}

#[test]
fn row_indices_tell_how_many_rows_there_are() {
    let mut sampler = small_sampler();
    let rows = [0.0, 1.0, 1.0, 0.0];
    let mut token_ids = [7i64; 4];
    let mut args = SampleArgs {
        input: Rows::logits(&rows, 2, 2),
        row_indices: (&[1, 0, 2]).into(),
        params: Params { temperature: 0.0, ..Params::default() },
        out_token_ids: (&mut token_ids).into(),
        ..SampleArgs::default()
    };
    sampler.sample(&args).unwrap();
    args.row_indices = (&[0, 0, 0, 0, 0]).into();
    assert_refused(sampler.sample(&args), "out_token_ids has 4 elements; this call needs 5");
    assert_eq!(token_ids, [0, 1, -1, 7]);
}

#[test]
fn ids_of_one_call_must_have_one_type() {
    let mut sampler = small_sampler();
    let mut token_ids = [0i64; 2];
    let mut args = VerifyArgs {
        target: Rows::probabilities(&[0.5, 0.5, 0.5, 0.5], 2, 2),
        num_drafts: 1,
        draft_token_ids: (&[1i32]).into(),
        out_token_ids: (&mut token_ids).into(),
        ..VerifyArgs::default()
    };
    assert_refused(
        sampler.verify(&args),
        "draft_token_ids is i32 and out_token_ids i64; they must be the same",
    );
    args.draft_token_ids = (&[1i64]).into();
    sampler.verify(&args).unwrap();
    // Where one is missing, the library names it.
    args.out_token_ids = ArrayMut::default();
    assert_refused(sampler.verify(&args), "out_token_ids is NULL; it is required");
    assert!(token_ids[0] >= 0);
}

#[test]
fn sixteen_bits_are_lent_as_they_are() {
    let mut sampler = small_sampler();
    // 1 and 2 of each type.
    for (values, bits) in [
        (Array::f16(&[0x3c00, 0x4000]), [0x3c00, 0x4000]),
        (Array::bf16(&[0x3f80, 0x4000]), [0x3f80, 0x4000]),
    ] {
        let mut token_ids = [7; 1];
        sampler.argmax(&Rows::logits(values, 1, 2), &mut token_ids).unwrap();
        assert_eq!(token_ids, [1]);
        let mut out_bits = [0; 2];
        let out_values = if bits[0] == 0x3c00 {
            ArrayMut::f16(&mut out_bits)
        } else {
            ArrayMut::bf16(&mut out_bits)
        };
        let args = SelectArgs {
            input: Rows::logits(values, 1, 2),
            num_selected: 2,
            out_values,
            ..SelectArgs::default()
        };
        sampler.select(&args).unwrap();
        assert_eq!(out_bits, [bits[1], bits[0]]);
    }
}

#[test]
fn device_arrays_are_refused_on_the_cpu() {
    let mut sampler = small_sampler();
    // SAFETY: the calls are refused, so nothing is read there.
    let (values, seeds) =
        unsafe { (Array::<Real>::device(64 as *const f32, 5), Array::device(64 as *const u64, 1)) };
    let mut args = SampleArgs { input: Rows::logits(values, 1, 5), ..SampleArgs::default() };
    assert_refused(sampler.sample(&args), "input.values is device memory; it must be host memory");
    args.input = Rows::logits(&LOGITS, 1, 5);
    args.random.seeds = seeds;
    assert_refused(sampler.sample(&args), "random.seeds is device memory; it must be host memory");
}

#[test]
fn a_workspace_is_told_to_the_byte() {
    let mut sampler = Sampler::new(Options::default()).unwrap();
    let mut args = SampleArgs { input: Rows::logits(&LOGITS, 1, 5), ..SampleArgs::default() };
    let bytes = sampler.sample_workspace_size(&args).unwrap();
    let mut token_ids = [0i32; 1];
    let (mut workspace, mut too_small) = (vec![0u8; bytes], vec![0u8; bytes - 1]);
    args.out_token_ids = (&mut token_ids).into();
    args.exec.workspace = (&mut too_small).into();
    let error = sampler.sample(&args).unwrap_err();
    assert_eq!(error.status, Status::WorkspaceTooSmall);
    let message = format!("exec.workspace_bytes is {}; this call needs {bytes}", bytes - 1);
    assert_eq!(error.message, message);
    args.exec.workspace = (&mut workspace).into();
    sampler.sample(&args).unwrap();
    args.input.num_cols = 0;
    assert_refused(
        sampler.sample_workspace_size(&args),
        "input.num_cols is 0; it must be at least 1",
    );
}

/// Arguments that are lent for each step, and given anew, have the same outputs.
#[test]
fn arguments_are_lent_for_a_step() {
    let mut sampler = small_sampler();
    let (slots, temperatures) = ([1, 0], [1.5, 0.75]);
    let args = || SampleArgs {
        slots: (&slots).into(),
        num_slots: 2,
        row_params: RowParams { temperature: (&temperatures).into(), ..RowParams::default() },
        reports: ReportArgs { logprob_kind: LogprobKind::Processed, ..ReportArgs::default() },
        ..SampleArgs::default()
    };
    let sizes = SampleArgs { input: Rows::logits(&[0.0; 10], 2, 5), ..args() };
    let bytes = sampler.sample_workspace_size(&sizes).unwrap();
    let (mut workspace, mut other_workspace) = (vec![0u8; bytes], vec![0u8; bytes]);
    let mut entropies = [77.0; 2];
    let mut lent = args();
    lent.exec.workspace = (&mut workspace).into();
    lent.reports.out_entropies = (&mut entropies).into();

    let mut logits = [LOGITS, LOGITS].concat();
    let (mut drawn, mut logprobs) = ([77; 2], [77.0; 2]);
    let mut last_entropies = [0.0; 2];
    for step in 0..20 {
        let rest = lent.reborrow();
        sampler
            .sample(&SampleArgs {
                input: Rows::logits(&logits, 2, 5),
                random: Random::new(1, step),
                out_token_ids: (&mut drawn).into(),
                reports: ReportArgs { out_logprobs: (&mut logprobs).into(), ..rest.reports },
                ..rest
            })
            .unwrap();
        let (mut wanted, mut wanted_logprobs) = ([0; 2], [0.0; 2]);
        sampler
            .sample(&SampleArgs {
                exec: Exec { workspace: (&mut other_workspace).into(), ..Exec::default() },
                input: Rows::logits(&logits, 2, 5),
                random: Random::new(1, step),
                out_token_ids: (&mut wanted).into(),
                reports: ReportArgs {
                    out_logprobs: (&mut wanted_logprobs).into(),
                    out_entropies: (&mut last_entropies).into(),
                    ..args().reports
                },
                ..args()
            })
            .unwrap();
        assert_eq!((drawn, logprobs), (wanted, wanted_logprobs));
        for (row, &token) in drawn.iter().enumerate() {
            logits[row * 5 + token as usize] -= 0.25;
        }
    }
    assert_eq!(entropies, last_entropies);

    let (mut array, mut row) = (ArrayMut::from(&mut drawn), [0.0, 1.0]);
    for token in [1, 0] {
        sampler.argmax(&Rows::logits(&row, 1, 2), array.reborrow()).unwrap();
        row[token] = -1.0;
    }
    assert_eq!(drawn[0], 0);
}

#[test]
fn a_fallback_token_stands_for_bad_rows() {
    let mut sampler = Sampler::new(Options { fallback_token_id: Some(3), ..options() }).unwrap();
    let mut token_ids = [0; 1];
    sampler.argmax(&Rows::logits(&[f32::NAN; 5], 1, 5), &mut token_ids).unwrap();
    assert_eq!(token_ids, [3]);
}

// ---- Simple calls -------------------------------------------------------------------------------

const ROWS: [f32; 10] = [2.0, 2.5, 1.5, -1.0, 0.0, 0.5, 1.0, -2.0, 3.0, 2.0];

/// Tokens of a simple call, at many offsets, are those of `sample` with these parameters.
fn check_draw(
    params: Params,
    call: impl Fn(&mut Sampler, &Rows, u64, &mut [i32]) -> Result<(), Error>,
) {
    let mut sampler = small_sampler();
    let input = Rows::logits(&ROWS, 2, 5);
    for offset in 0..200 {
        let (mut simple, mut full) = ([-7; 2], [-7; 2]);
        call(&mut sampler, &input, offset, &mut simple).unwrap();
        let args = SampleArgs {
            input,
            params,
            random: Random::new(17, offset),
            out_token_ids: (&mut full).into(),
            ..SampleArgs::default()
        };
        sampler.sample(&args).unwrap();
        assert_eq!(simple, full);
        let short = call(&mut sampler, &input, offset, &mut simple[..1]);
        assert_refused(short, "out_token_ids has 1 elements; this call needs 2");
    }
}

#[test]
fn simple_draws_are_samples() {
    let params = Params { temperature: 0.0, ..Params::default() };
    check_draw(params, |sampler, input, _, out| sampler.argmax(input, out));
    let params = Params { temperature: 0.8, ..Params::default() };
    check_draw(params, |sampler, input, offset, out| {
        sampler.categorical(input, 0.8, 17, offset, out)
    });
    let params = Params { top_k: 3, ..params };
    check_draw(params, |sampler, input, offset, out| sampler.top_k(input, 3, 0.8, 17, offset, out));
    let params = Params { top_p: 0.75, ..params };
    check_draw(params, |sampler, input, offset, out| {
        sampler.top_k_top_p(input, 3, 0.75, 0.8, 17, offset, out)
    });
    let params = Params { top_k: 0, ..params };
    check_draw(params, |sampler, input, offset, out| {
        sampler.top_p(input, 0.75, 0.8, 17, offset, out)
    });
    let params = Params { top_p: 1.0, min_p: 0.3, ..params };
    check_draw(params, |sampler, input, offset, out| {
        sampler.min_p(input, 0.3, 0.8, 17, offset, out)
    });
}

/// Rows of a simple call are those of `filter`.
fn check_rows(
    params: Params,
    output_kind: OutputKind,
    call: impl Fn(&mut Sampler, &Rows, &mut [f32]) -> Result<(), Error>,
) {
    let mut sampler = small_sampler();
    let input = Rows::logits(&ROWS, 2, 5);
    let (mut simple, mut full) = ([7.0; 10], [7.0; 10]);
    call(&mut sampler, &input, &mut simple).unwrap();
    let args = FilterArgs {
        input,
        params,
        output_kind,
        output: (&mut full).into(),
        ..FilterArgs::default()
    };
    sampler.filter(&args).unwrap();
    assert_eq!(simple, full);
    let short = call(&mut sampler, &input, &mut simple[..9]);
    assert_refused(short, "output has 9 elements; this call needs 10");
}

#[test]
fn simple_rows_are_filters() {
    let (probabilities, values) = (OutputKind::Probabilities, OutputKind::Values);
    let params = Params { temperature: 0.8, ..Params::default() };
    check_rows(params, probabilities, |sampler, input, output| sampler.softmax(input, 0.8, output));
    let params = Params { top_k: 3, ..Params::default() };
    check_rows(params, probabilities, |sampler, input, output| {
        sampler.top_k_renorm(input, 3, output)
    });
    check_rows(params, values, |sampler, input, output| sampler.top_k_mask(input, 3, output));
    let params = Params { top_p: 0.6, ..Params::default() };
    check_rows(params, probabilities, |sampler, input, output| {
        sampler.top_p_renorm(input, 0.6, output)
    });
}

#[test]
fn top_k_select_is_select() {
    let mut sampler = small_sampler();
    let input = Rows::logits(&ROWS, 2, 5);
    let (mut values, mut ids) = ([7.0; 6], [7; 6]);
    sampler.top_k_select(&input, 3, &mut values, &mut ids).unwrap();
    let (mut full_values, mut full_ids) = ([0.0; 6], [0i32; 6]);
    let args = SelectArgs {
        input,
        num_selected: 3,
        out_values: (&mut full_values).into(),
        out_token_ids: (&mut full_ids).into(),
        ..SelectArgs::default()
    };
    sampler.select(&args).unwrap();
    assert_eq!((values, ids), (full_values, full_ids));
    assert_eq!(ids, [1, 0, 2, 3, 4, 1]);
    let mut only_ids = [7; 6];
    let none = ArrayMut::default;
    sampler.top_k_select(&input, 3, none(), &mut only_ids).unwrap();
    assert_eq!(only_ids, ids);
    let short = sampler.top_k_select(&input, 3, &mut values[..5], &mut ids);
    assert_refused(short, "out_values has 5 elements; this call needs 6");
    let short = sampler.top_k_select(&input, 3, none(), &mut ids[..5]);
    assert_refused(short, "out_token_ids has 5 elements; this call needs 6");
}

#[test]
fn chain_speculative_is_verify() {
    let mut sampler = small_sampler();
    let target = Rows::probabilities(&[0.5, 0.5, 0.25, 0.75, 0.5, 0.5, 1.0, 0.0], 4, 2);
    let draft = Rows::probabilities(&[0.25, 0.75, 0.5, 0.5], 2, 2);
    for (offset, draft) in (0..200).flat_map(|offset| [(offset, None), (offset, Some(draft))]) {
        let (mut ids, mut accepted, mut emitted) = ([7; 4], [7; 2], [7; 2]);
        let mut call = |drafts: &[i32], ids: &mut [i32]| {
            let counts = (&mut accepted, &mut emitted);
            sampler.chain_speculative(
                &target,
                draft.as_ref(),
                drafts,
                1,
                17,
                offset,
                ids,
                counts.0,
                counts.1,
            )
        };
        let short = call(&[1], &mut ids);
        assert_refused(short, "draft_token_ids has 1 elements; this call needs 2");
        let short = call(&[1, 0], &mut ids[..3]);
        assert_refused(short, "out_token_ids has 3 elements; this call needs 4");
        call(&[1, 0], &mut ids).unwrap();
        let (mut full_ids, mut full_accepted, mut full_emitted) = ([0i32; 4], [0; 2], [0; 2]);
        let args = VerifyArgs {
            target,
            draft,
            draft_token_ids: (&[1i32, 0]).into(),
            num_drafts: 1,
            random: Random::new(17, offset),
            out_token_ids: (&mut full_ids).into(),
            out_accepted_counts: (&mut full_accepted).into(),
            out_emitted_counts: (&mut full_emitted).into(),
            ..VerifyArgs::default()
        };
        sampler.verify(&args).unwrap();
        assert_eq!((ids, accepted, emitted), (full_ids, full_accepted, full_emitted));
    }
}

// ---- Samplers -----------------------------------------------------------------------------------

#[test]
fn eight_threads_draw_with_their_own_samplers() {
    let threads: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(|| {
                let mut sampler = small_sampler();
                for _ in 0..200 {
                    let tokens: Vec<_> =
                        (0..5).map(|step| draw(&mut sampler, step).unwrap()).collect();
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
    let mut sampler = Sampler::new(Options { num_threads: 2, ..options() }).unwrap();
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
                    let result = Sampler::new(Options { num_threads: -number, ..options() });
                    let message = format!("num_threads is -{number}; it must be at least 0");
                    assert_refused(result, &message);
                    thread::yield_now();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn logging(log: impl FnMut(LogLevel, &str) + Send + 'static) -> Options {
    Options { log: Some(Box::new(log)), ..options() }
}

#[test]
fn the_log_hears_of_samplers_and_errors() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let options = logging(move |level, line| {
        log.lock().unwrap().push((level, line.to_string()));
    });
    let mut sampler = Sampler::new(options).unwrap();
    let message = sample_nothing(&mut sampler).unwrap_err().message;
    // Errors that this crate finds do not reach the library.
    let short = sampler.argmax(&Rows::logits(&LOGITS, 2, 5), &mut [0; 2]);
    assert!(short.is_err());
    drop(sampler);
    let lines = Arc::try_unwrap(lines).unwrap().into_inner().unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].0, LogLevel::Info);
    assert!(lines[0].1.starts_with("sampler created on the CPU"));
    assert_eq!(lines[1], (LogLevel::Error, message));
}

#[test]
fn a_log_may_use_other_samplers() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let options = logging(move |_, line| {
        let before = line.to_string();
        sample_nothing(&mut small_sampler()).unwrap_err();
        log.lock().unwrap().push((before, line.to_string()));
    });
    let mut sampler = Sampler::new(options).unwrap();
    let message = sample_nothing(&mut sampler).unwrap_err().message;
    assert_eq!(message, "input.num_cols is 0; it must be at least 1");
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1], (message.clone(), message));
}

#[test]
fn a_log_that_panics_harms_nobody() {
    let options = || logging(|_, _| panic!("in the log"));
    let mut sampler = Sampler::new(options()).unwrap();
    assert_eq!(draw(&mut sampler, 0), Ok(2));
    assert!(sample_nothing(&mut sampler).is_err());
    assert!(Sampler::new(Options { num_threads: -1, ..options() }).is_err());
}

#[test]
fn capabilities_and_version() {
    let capabilities = capabilities().unwrap();
    assert_eq!(capabilities.abi_version, 1);
    assert!(capabilities.num_processors >= 1);
    assert!(capabilities.isa_usable.contains(Isa::SCALAR));
    assert!(capabilities.isa_compiled.contains(capabilities.isa_usable));
    let (major, rest) = (capabilities.version / 10000, capabilities.version % 10000);
    // A candidate for a release has its number after that: "-rc1".
    let release = version().unwrap().split("-rc").next().unwrap().to_string();
    assert_eq!(release, format!("{major}.{}.{}", rest / 100, rest % 100));
}

#[test]
fn numbers_without_a_name_are_kept() {
    let status = Status::from(1234);
    assert_eq!((status.raw(), status.name()), (1234, None));
    assert_eq!(status.to_string(), "Status 1234");
    assert_eq!(format!("{status:?}"), "Unknown(1234)");
    assert!(matches!(status, Status::Unknown(_)));
    assert_eq!((Status::from(6), i32::from(Status::System)), (Status::System, 6));
    assert_eq!(format!("{:?} {0}", TieRule::Keep), "Keep SAMPLER_TIES_KEEP");
    let (stage, of_byte) = (Stage::default(), Stage::from(16u8));
    assert_eq!((stage, stage.raw(), stage.name(), of_byte), (Stage::None, 0, None, Stage::TopK));
    assert_eq!(UnmaskChange::from(2u8), UnmaskChange::Edited);
    let error = Error { status: Status::Unsupported, message: "no".into() };
    assert_eq!(error.to_string(), "SAMPLER_ERROR_UNSUPPORTED: no");
}

#[test]
fn bit_sets_are_told_by_name() {
    let mut status = RowStatus::EMPTY | RowStatus::INVALID_SLOT;
    assert!(status.contains(RowStatus::INVALID_SLOT) && status.contains(status));
    assert!(!status.contains(RowStatus::INVALID_SLOT | RowStatus::STATE_FULL));
    assert!(!status.is_ok() && RowStatus::default().is_ok());
    assert_eq!(status.to_string(), "SAMPLER_ROW_EMPTY | SAMPLER_ROW_INVALID_SLOT");
    status |= RowStatus::from(1 << 20);
    assert_eq!(format!("{status:?}"), "EMPTY | INVALID_SLOT | 0x100000");
    assert_eq!((status.raw(), u32::from(RowStatus::EMPTY)), (1 << 20 | 66, 2));
    assert_eq!(format!("{:?} {}", RowStatus::OK, RowStatus::OK), "OK SAMPLER_ROW_OK");
    assert_eq!(format!("{:?}", Isa::default()), "0x0");
}

/// Arrays of the set and of its numbers are one to a call.
#[test]
fn bit_sets_are_lent_as_they_are() {
    let (mut sampler, row) = (small_sampler(), [f32::NAN; 5]);
    let (mut set, mut number, mut token_ids) = ([RowStatus::OK; 1], [0u32; 1], [0i32; 1]);
    for out_row_status in [(&mut set).into(), (&mut number).into()] {
        let args = SampleArgs {
            input: Rows::logits(&row, 1, 5),
            out_token_ids: (&mut token_ids).into(),
            out_row_status,
            ..SampleArgs::default()
        };
        sampler.sample(&args).unwrap();
    }
    assert_eq!((set, number), ([RowStatus::INVALID_VALUE], [1]));
}
