//! Reports of sampling, and the values of adaptive stages.

use sampler::*;

const LOGITS: [f32; 5] = [2.0, 2.5, 1.5, -1.0, 0.0];
const NONE: f32 = f32::NEG_INFINITY;

fn new_sampler() -> Sampler {
    Sampler::new(Options { max_rows: 3, max_cols: 40, ..Options::default() }).unwrap()
}

/// By the definition.
fn logprobs_of(logits: &[f32]) -> Vec<f64> {
    let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
    logits.iter().map(|&x| f64::from(x) - sum.ln()).collect()
}

fn entropy_of(logprobs: &[f64]) -> f64 {
    logprobs.iter().filter(|x| x.is_finite()).map(|x| -x.exp() * x).sum()
}

fn is_near(got: f32, want: f64) -> bool {
    (f64::from(got) - want).abs() < 1e-5 || want.is_infinite() && f64::from(got) == want
}

/// Scores of drawn tokens are what was reported when they were drawn.
#[test]
fn scores_are_what_was_reported() {
    let mut sampler =
        Sampler::new(Options { max_rows: 64, max_cols: 512, ..Options::default() }).unwrap();
    let params = Params { top_p: 0.8, ..Params::default() };
    for offset in 0..20 {
        let (mut token, mut kept, mut offsets) = ([77i64; 1], [77i64; 5], [77i64; 2]);
        let (mut drawn, mut scored, mut status) = ([77.0; 1], [7.0; 1], [RowStatus::from(77); 1]);
        sampler
            .sample(&SampleArgs {
                input: Rows::logits(&LOGITS, 1, 5),
                params,
                random: Random::new(0, offset),
                out_token_ids: (&mut token).into(),
                reports: ReportArgs {
                    logprob_kind: LogprobKind::Processed,
                    out_logprobs: (&mut drawn).into(),
                    kept_capacity: 5,
                    out_kept_token_ids: (&mut kept).into(),
                    out_kept_offsets: (&mut offsets).into(),
                    ..ReportArgs::default()
                },
                ..SampleArgs::default()
            })
            .unwrap();
        let padding = [-1i64];
        for (token, lists) in [
            (&token, TokenLists::default()),
            (&token, TokenLists::new(&offsets, &kept)),
            (&padding, TokenLists::default()),
        ] {
            let args = ScoreArgs {
                input: Rows::logits(&LOGITS, 1, 5),
                params,
                token_ids: token.into(),
                kept: lists,
                out_row_status: (&mut status).into(),
                reports: ReportArgs {
                    logprob_kind: LogprobKind::Processed,
                    out_logprobs: (&mut scored).into(),
                    ..ReportArgs::default()
                },
                ..ScoreArgs::default()
            };
            assert!(sampler.score_workspace_size(&args).unwrap() > 0);
            sampler.score(&args).unwrap();
            if token[0] < 0 {
                assert!(scored[0].is_nan() && status == [RowStatus::INVALID_PARAMETER]);
            } else {
                assert_eq!((scored, status), (drawn, [RowStatus::OK]));
            }
        }
        let mixed = ScoreArgs {
            input: Rows::logits(&LOGITS, 1, 5),
            token_ids: (&[1i32]).into(),
            kept: TokenLists::new(&offsets, &kept),
            ..ScoreArgs::default()
        };
        let error = sampler.score(&mixed).unwrap_err().to_string();
        assert!(error.contains("token_ids is i32 and kept.token_ids i64"), "{error}");
    }
}

/// The reports of one row: the input, what a bias left of it, and what top-k kept of that.
#[test]
fn reports_are_those_of_the_definition() {
    let edited = [2.0, 0.5, 1.5, -1.0, 0.0];
    let kept = [2.0, 0.5, 1.5, NONE, NONE];
    let bias = Pipeline {
        biased: TokenLists::new(&[0, 1], &[1i32]),
        biases: (&[-2.0]).into(),
        ..Pipeline::default()
    };
    for (kind, row, top) in [
        (LogprobKind::Raw, LOGITS, [1, 0, 2, 4]),
        (LogprobKind::Edited, edited, [0, 2, 1, 4]),
        (LogprobKind::Processed, kept, [0, 2, 1, -1]),
    ] {
        let (logprobs, of_kept) = (logprobs_of(&row), logprobs_of(&kept));
        for offset in 0..20 {
            let (mut token, mut logprob, mut rank) = ([77; 1], [77.0; 1], [77; 1]);
            let (mut top_ids, mut top_logprobs) = ([77; 4], [77.0; 4]);
            let (mut chosen, mut entropy, mut observation) = ([77.0; 3], [77.0; 1], [77.0; 1]);
            let (mut bitmask, mut removed) = ([77; 2], [77; 5]);
            let (mut kept_ids, mut probabilities) = ([77; 4], [77.0; 4]);
            let args = SampleArgs {
                input: Rows::logits(&LOGITS, 1, 5),
                params: Params { top_k: 3, ..Params::default() },
                random: Random::new(0, offset),
                reports: ReportArgs {
                    logprob_kind: kind,
                    out_logprobs: (&mut logprob).into(),
                    num_top_logprobs: 4,
                    out_top_token_ids: (&mut top_ids).into(),
                    out_top_logprobs: (&mut top_logprobs).into(),
                    num_chosen: 3,
                    chosen_token_ids: (&[3, 1, 5]).into(),
                    out_chosen_logprobs: (&mut chosen).into(),
                    out_ranks: (&mut rank).into(),
                    out_entropies: (&mut entropy).into(),
                    out_observations: (&mut observation).into(),
                    out_kept_bitmask: (&mut bitmask).into(),
                    kept_bitmask_stride: 2,
                    kept_capacity: 4,
                    out_kept_token_ids: (&mut kept_ids).into(),
                    out_kept_probabilities: (&mut probabilities).into(),
                    out_removed_by: (&mut removed).into(),
                    ..ReportArgs::default()
                },
                out_token_ids: (&mut token).into(),
                pipeline: Some(&bias),
                ..SampleArgs::default()
            };
            new_sampler().sample(&args).unwrap();
            assert_eq!((top_ids, bitmask, kept_ids), (top, [0b00111, 0], [0, 1, 2, -1]));
            let top_k = Stage::TopK.raw() as u8;
            assert_eq!(removed, [0, 0, 0, top_k, top_k]);
            for (&id, &got) in top.iter().zip(&top_logprobs) {
                assert!(if id < 0 { got.is_nan() } else { is_near(got, logprobs[id as usize]) });
            }
            assert_eq!(top[rank[0] as usize - 1], token[0]);
            assert!(is_near(chosen[0], logprobs[3]) && is_near(chosen[1], logprobs[1]));
            assert!(chosen[2].is_nan() && observation[0].is_nan());
            assert!(is_near(logprob[0], logprobs[token[0] as usize]));
            assert!(is_near(entropy[0], entropy_of(&logprobs)));
            for i in 0..3 {
                assert!(is_near(probabilities[i], of_kept[i].exp()));
            }
            assert_eq!(probabilities[3], 0.0);
        }
    }
}

/// Lists of kept tokens that follow one another, with room for all of them and with less.
#[test]
fn packed_lists() {
    let logits = [LOGITS, [f32::NAN; 5], LOGITS].concat();
    for (capacity, want) in [(4, [0, 1, 0, 1]), (3, [77; 4])] {
        let (mut token_ids, mut ids, mut offsets) = ([77i32; 3], [77i32; 4], [77i64; 4]);
        let mut sampler = Sampler::new(Options::default()).unwrap();
        sampler
            .sample(&SampleArgs {
                exec: Exec { workspace: (&mut vec![0; 1 << 20]).into(), ..Exec::default() },
                input: Rows::logits(&logits, 3, 5),
                params: Params { top_k: 2, ..Params::default() },
                out_token_ids: (&mut token_ids).into(),
                reports: ReportArgs {
                    kept_capacity: capacity,
                    out_kept_token_ids: (&mut ids[..capacity]).into(),
                    out_kept_offsets: (&mut offsets).into(),
                    ..ReportArgs::default()
                },
                ..SampleArgs::default()
            })
            .unwrap();
        assert_eq!((offsets, ids), ([0, 2, 2, 4], want));
    }
}

#[test]
fn wrong_lengths_are_refused() {
    const ROWS: [f32; 80] = [0.0; 80];
    fn refused(message: &str, reports: ReportArgs) {
        let mut token_ids = [77i32; 2];
        let args = SampleArgs {
            input: Rows::logits(&ROWS, 2, 40),
            out_token_ids: (&mut token_ids).into(),
            reports,
            ..SampleArgs::default()
        };
        let error = new_sampler().sample(&args).unwrap_err();
        assert_eq!((error.status, &error.message[..]), (Status::InvalidArgument, message));
        assert_eq!(token_ids, [77; 2]);
    }
    let default = ReportArgs::default;
    let (mut five_ids, mut long_ids, mut five) = ([0i32; 5], [0i64; 6], [0.0f32; 5]);
    let (mut one, mut one_id, mut words, mut bytes) = ([0.0], [0i32], [0u32; 3], [0u8; 79]);
    refused(
        "reports->out_top_token_ids is NULL; it is required",
        ReportArgs { num_top_logprobs: 3, ..default() },
    );
    refused(
        "reports->num_top_logprobs is 41; it must be below 41",
        ReportArgs { num_top_logprobs: 41, ..default() },
    );
    refused(
        "reports.out_top_token_ids has 5 elements; reports needs 6",
        ReportArgs { num_top_logprobs: 3, out_top_token_ids: (&mut five_ids).into(), ..default() },
    );
    refused(
        "out_token_ids is i32 and reports.out_top_token_ids i64; they must be the same",
        ReportArgs { num_top_logprobs: 3, out_top_token_ids: (&mut long_ids).into(), ..default() },
    );
    refused(
        "reports.out_top_logprobs has 5 elements; reports needs 6",
        ReportArgs { num_top_logprobs: 3, out_top_logprobs: (&mut five).into(), ..default() },
    );
    refused(
        "reports.chosen_token_ids has 5 elements; reports needs 6",
        ReportArgs { num_chosen: 3, chosen_token_ids: (&five_ids).into(), ..default() },
    );
    refused(
        "out_token_ids is i32 and reports.chosen_token_ids i64; they must be the same",
        ReportArgs { num_chosen: 3, chosen_token_ids: (&long_ids).into(), ..default() },
    );
    refused(
        "reports.out_chosen_logprobs has 5 elements; reports needs 6",
        ReportArgs { num_chosen: 3, out_chosen_logprobs: (&mut five).into(), ..default() },
    );
    refused(
        "reports.out_ranks has 1 elements; reports needs 2",
        ReportArgs { out_ranks: (&mut one_id).into(), ..default() },
    );
    refused(
        "reports.out_entropies has 1 elements; reports needs 2",
        ReportArgs { out_entropies: (&mut one).into(), ..default() },
    );
    refused(
        "reports.out_observations has 1 elements; reports needs 2",
        ReportArgs { out_observations: (&mut one).into(), ..default() },
    );
    refused(
        "reports.out_kept_bitmask has 3 elements; reports needs 4",
        ReportArgs { out_kept_bitmask: (&mut words).into(), ..default() },
    );
    refused(
        "reports.out_kept_bitmask has 3 elements; reports needs 6",
        ReportArgs { out_kept_bitmask: (&mut words).into(), kept_bitmask_stride: 3, ..default() },
    );
    refused(
        "reports->kept_bitmask_stride is 1; it must be 0",
        ReportArgs { kept_bitmask_stride: 1, ..default() },
    );
    refused(
        "reports.out_kept_token_ids has 5 elements; reports needs 6",
        ReportArgs { kept_capacity: 3, out_kept_token_ids: (&mut five_ids).into(), ..default() },
    );
    refused(
        "out_token_ids is i32 and reports.out_kept_token_ids i64; they must be the same",
        ReportArgs { kept_capacity: 3, out_kept_token_ids: (&mut long_ids).into(), ..default() },
    );
    refused(
        "reports.out_kept_probabilities has 5 elements; reports needs 6",
        ReportArgs { kept_capacity: 3, out_kept_probabilities: (&mut five).into(), ..default() },
    );
    refused(
        "reports.out_kept_offsets has 2 elements; reports needs 3",
        ReportArgs { out_kept_offsets: (&mut [0i64; 2]).into(), ..default() },
    );
    refused(
        "reports.out_removed_by has 79 elements; reports needs 80",
        ReportArgs { out_removed_by: (&mut bytes).into(), ..default() },
    );
    refused(
        "reports->logprob_kind is 3; it must be one of its constants, 0 to 2",
        ReportArgs { logprob_kind: LogprobKind::from(3), ..default() },
    );
}

/// Mirostat's and adaptive-p's values, by section 14.2 of docs/contract.md.
#[test]
fn adaptive_values_move_on() {
    let mut sampler = Sampler::new(Options::default()).unwrap();
    let options = StateOptions { num_slots: 3, max_tokens: 8, ..StateOptions::default() };
    let mut state = State::new(&mut sampler, options).unwrap();
    let params = Params { top_p: 0.75, ..Params::default() };
    let kinds = [AdaptiveKind::MirostatV1, AdaptiveKind::MirostatV2, AdaptiveKind::P]
        .map(AdaptiveKind::raw);
    let row_params = RowParams {
        adaptive_kind: (&kinds).into(),
        adaptive_target: (&[2.0, 3.0, 0.25]).into(),
        adaptive_rate: (&[0.5, 0.125, 0.5]).into(),
        top_p_decay: (&[0.5, 0.5, 0.5]).into(),
        top_p_least: (&[0.5, 0.1, 0.1]).into(),
        top_p_reset_token_id: (&[-1, 0, 0]).into(),
        forced_token_id: (&[-1, 0, 0]).into(),
        ..RowParams::default()
    };
    let (mut token_ids, mut observed, mut values) = ([77; 3], [77.0; 3], [77.0; 12]);
    sampler
        .sample(&SampleArgs {
            exec: Exec { workspace: (&mut vec![0; 1 << 20]).into(), ..Exec::default() },
            input: Rows::logits(&[LOGITS; 3].concat(), 3, 5),
            params,
            row_params,
            out_token_ids: (&mut token_ids).into(),
            reports: ReportArgs {
                out_observations: (&mut observed).into(),
                ..ReportArgs::default()
            },
            pipeline: Some(&Pipeline { state: Some(&state), ..Pipeline::default() }),
            ..SampleArgs::default()
        })
        .unwrap();
    assert!(observed.iter().all(|x| x.is_finite()));
    let accept = AcceptArgs {
        num_rows: 3,
        token_ids: (&token_ids).into(),
        num_tokens: 1,
        observations: (&observed).into(),
        params,
        row_params,
        ..AcceptArgs::default()
    };
    state.accept(&mut sampler, &accept).unwrap();
    let read =
        ReadArgs { num_rows: 3, out_adaptive_values: (&mut values).into(), ..ReadArgs::default() };
    state.read(&mut sampler, &read).unwrap();
    let o = observed.map(f64::from);
    let nan = f64::NAN;
    let wanted = [
        [4.0 - 0.5 * (o[0] - 2.0), nan, nan, 0.5],
        [6.0 - 0.125 * (o[1] - 3.0), nan, nan, 0.75],
        [nan, o[2] + 0.5 * 0.5, 1.0 + 0.5 * 2.0, 0.75],
    ]
    .concat();
    for (got, want) in values.iter().zip(wanted) {
        assert!(if want.is_nan() { got.is_nan() } else { is_near(*got, want) }, "{values:?}");
    }
}

/// A step of two blocks: what is sure is committed, and the likeliest of each block.
#[test]
fn unmasking() {
    let mut sampler = Sampler::new(Options::default()).unwrap();
    let (mut tokens, mut changes) = ([1, 1, 1, 3, 1, 1], [77; 6]);
    let (mut masked, mut status) = ([77; 2], [RowStatus::from(77); 2]);
    sampler
        .unmask(&UnmaskArgs {
            num_rows: 6,
            block_offsets: (&[0, 4, 6]).into(),
            num_blocks: 2,
            candidate_token_ids: (&[5, 6, 7, 8, 9, 4]).into(),
            scores: (&[-0.5, -0.125, -2.0, -0.25, -1.0, -0.0625]).into(),
            token_ids: (&mut tokens).into(),
            params: UnmaskParams {
                mask_token_id: 1,
                num_committed: 1,
                threshold: 0.875,
                edit_threshold: 0.75,
                ..UnmaskParams::default()
            },
            out_changes: (&mut changes).into(),
            out_masked_counts: (&mut masked).into(),
            out_block_status: (&mut status).into(),
            ..UnmaskArgs::default()
        })
        .unwrap();
    assert_eq!(tokens, [1, 6, 1, 8, 1, 4]);
    use UnmaskChange::{Committed, Edited, Kept};
    let wanted = [Kept, Committed, Kept, Edited, Kept, Committed];
    assert_eq!(changes.map(UnmaskChange::from), wanted);
    assert_eq!((masked, status), ([2, 1], [RowStatus::OK; 2]));
    let (mut confidences, mut committed, mut edited) = ([0.0; 6], [77; 2], [77; 2]);
    sampler
        .unmask(&UnmaskArgs {
            num_rows: 6,
            block_offsets: (&[0, 4, 6]).into(),
            num_blocks: 2,
            params: UnmaskParams {
                mask_token_id: 1,
                confidence: Confidence::Entropy,
                order_temperature: 0.5,
                entropy_bound: 0.5,
                num_committed: 7,
                num_steps_left: 7,
                ..UnmaskParams::default()
            },
            candidate_token_ids: (&[5, 6, 7, 8, 9, 4]).into(),
            candidate_status: (&[1, 0, 0, 0, 0, 0]).into(),
            scores: (&[0.5, 0.0, 0.25, 0.0, 1.0, 0.0, 0.75, 0.0, 0.125, 0.0, 0.5, 0.0]).into(),
            score_stride: 2,
            token_ids: (&mut tokens).into(),
            slots: (&[0, 1, 0, 1, 0, 1]).into(),
            num_slots: 2,
            random: Random::new(3, 0),
            block_num_committed: (&[1, 2]).into(),
            block_num_steps_left: (&[0, 1]).into(),
            out_confidences: (&mut confidences).into(),
            out_committed_counts: (&mut committed).into(),
            out_edited_counts: (&mut edited).into(),
            out_masked_counts: (&mut masked).into(),
            ..UnmaskArgs::default()
        })
        .unwrap();
    assert_eq!((tokens, masked), ([1, 6, 7, 8, 9, 4], [1, 0]));
    assert_eq!((committed, edited), ([1, 1], [0, 0]));
    assert!(confidences[0].is_nan() && confidences[1] == -0.25);
    let mut args = UnmaskArgs {
        num_rows: 2,
        num_blocks: 1,
        params: UnmaskParams {
            confidence: Confidence::Margin, // two scores a row
            ..UnmaskParams::default()
        },
        candidate_token_ids: (&[5, 6]).into(),
        scores: (&[-0.5, -0.125]).into(),
        ..UnmaskArgs::default()
    };
    assert!(sampler.unmask(&args).is_err());
    assert!(sampler.unmask_workspace_size(&args).is_err());
    args.params = UnmaskParams { block_length: 2, ..UnmaskParams::default() }; // of sessions
    let error = sampler.unmask(&args).unwrap_err();
    assert_eq!(error.message, "params->block_length is 2; it must be 0");
}

/// A text that is drawn with the watermark is found by its key alone.
#[test]
fn watermarks() {
    let mut sampler =
        Sampler::new(Options { max_rows: 1, max_cols: 64, ..Options::default() }).unwrap();
    let (key, mut text) = (42, vec![-1i64; 4]);
    for _ in 0..60 {
        let numbers = watermark_random(key, &text[text.len() - 4..]).unwrap();
        let mut token = [77i64];
        sampler
            .sample(&SampleArgs {
                input: Rows::logits(&[0.0; 64], 1, 64),
                random: Random {
                    seed: numbers.seed,
                    offset: numbers.offset,
                    streams: (&[numbers.stream]).into(),
                    ..Random::default()
                },
                draw_method: DrawMethod::Watermark,
                out_token_ids: (&mut token).into(),
                ..SampleArgs::default()
            })
            .unwrap();
        text.push(token[0]);
    }
    let found = watermark_detect(key, &text[4..], 4, false).unwrap();
    assert!(found.p_value < 1e-6 && found.score > 100.0 && found.num_scored == 60, "{found:?}");
    assert!(watermark_detect(key + 1, &text[4..], 4, true).unwrap().p_value > 1e-3);
    assert!(watermark_random(key, &[]).is_err());
    assert!(watermark_detect(key, &text, 65, false).is_err());
}

/// The calls of tests/abi/consumer.c.
#[test]
fn schemes_of_watermarks() {
    let (text, candidates, keys) = ([3, 1, 4, 1, 5, 9, 2, 6], [7, 8, 9], [654, 400, 836]);
    let found = |params: &WatermarkParams| {
        let WatermarkDetection { score, num_scored, p_value } =
            watermark_score(params, &text).unwrap();
        format!("{score:.6} {num_scored} {p_value:.6}")
    };
    let params = WatermarkParams { context_length: 1, vocabulary_size: 16, ..Default::default() };

    let lefthash = WatermarkParams { key: 15485863, green_share: 0.25, bias: 2.0, ..params };
    let mut want = [0.0; 16];
    for token in [1, 3, 10, 14] {
        want[token] = 2.0;
    }
    assert_eq!(watermark_bias(&lefthash, &text[..1], &[]).unwrap(), want);
    assert_eq!(found(&lefthash), "0.218218 7 0.413630");
    assert_eq!(watermark_score(&lefthash, &[]).unwrap().p_value, 1.0);

    let mut selfhash = lefthash;
    (selfhash.scheme, selfhash.green_share) = (WatermarkScheme::Selfhash, 0.5);
    selfhash.table_size = 32;
    let table = watermark_table(&selfhash).unwrap();
    assert_eq!(table.len(), 32);
    selfhash.table = &table;
    assert_eq!(watermark_bias(&selfhash, &text[..1], &candidates).unwrap(), [0.0, 0.0, 2.0]);
    assert_eq!(watermark_bias(&selfhash, &text[..1], &[]).unwrap(), []);

    let mut tournament = WatermarkParams { scheme: WatermarkScheme::Tournament, ..params };
    (tournament.table_size, tournament.table_seed) = (32, 7);
    (tournament.keys, tournament.keeps_repeated) = (&keys, true);
    let table = watermark_table(&tournament).unwrap();
    tournament.table = &table;
    let mut probabilities = [0.5, 0.25, 0.25];
    watermark_tournament(&tournament, &text[..1], &candidates, &mut probabilities).unwrap();
    assert_eq!(probabilities, [27.0 / 32.0, 9.0 / 64.0, 1.0 / 64.0]);
    assert_eq!(found(&tournament), "0.476190 7 0.586370");
    for (scheme, length) in [(selfhash, 1000003), (tournament, 65536)] {
        let params = WatermarkParams { table_size: 0, table: &[], ..scheme };
        assert_eq!(watermark_table(&params).unwrap().len(), length);
    }

    // Lengths.
    let message = |result: Result<_, Error>| result.unwrap_err().message;
    let biases = |params: &WatermarkParams, context: &[i64], candidates: &[i32]| {
        message(watermark_bias(params, context, candidates).map(|_| ()))
    };
    let mut hold = |params: &WatermarkParams, context: &[i64], token_ids: &[i32]| {
        message(watermark_tournament(params, context, token_ids, &mut probabilities))
    };
    let score = |params: &WatermarkParams| message(watermark_score(params, &text).map(|_| ()));
    for length in [0, 2] {
        let want = format!("context has {length} elements; it must have 1");
        assert_eq!(biases(&lefthash, &text[..length], &[]), want);
        assert_eq!(biases(&selfhash, &text[..length], &candidates), want);
        assert_eq!(hold(&tournament, &text[..length], &candidates), want);
    }
    let want = "probabilities has 3 elements; it must have 2";
    assert_eq!(hold(&tournament, &text[..1], &candidates[..2]), want);
    for (size, table, needed) in
        [(32, &table[..31], 32), (31, &table, 31), (0, &table, 65536), (32, &[], 32)]
    {
        let wrong = WatermarkParams { table_size: size, table, ..tournament };
        let want =
            format!("params->table has {} elements; it must have {needed}", wrong.table.len());
        assert_eq!(hold(&wrong, &text[..1], &candidates), want);
        assert_eq!(score(&wrong), want);
    }
    let wrong = WatermarkParams { table_size: 0, ..selfhash };
    let want = "params->table has 32 elements; it must have 1000003";
    assert_eq!(biases(&wrong, &text[..1], &candidates), want);
    let wrong = WatermarkParams { table: &table, ..lefthash };
    assert_eq!(score(&wrong), "params->table has 32 elements; it must have 0");

    // What the library refuses.
    for (wrong, start) in [
        (WatermarkParams { context_length: usize::MAX, ..lefthash }, "params->context_length is"),
        (WatermarkParams { vocabulary_size: usize::MAX, ..lefthash }, "params->vocabulary_size is"),
        (WatermarkParams { scheme: WatermarkScheme::from(3), ..tournament }, "params->scheme is 3"),
        (WatermarkParams { table_size: usize::MAX, ..selfhash }, "params->table_size is"),
        (tournament, "params->scheme is 2; this call is for SAMPLER_WATERMARK_LEFTHASH"),
    ] {
        assert!(biases(&wrong, &text[..1], &[]).starts_with(start), "{wrong:?}");
    }
    let wrong = WatermarkParams { table_size: usize::MAX, ..selfhash };
    assert!(watermark_table(&wrong).unwrap_err().message.starts_with("params->table_size is"));
    let wrong = WatermarkParams { scheme: WatermarkScheme::from(3), ..selfhash };
    assert!(watermark_table(&wrong).unwrap_err().message.starts_with("params->scheme is 3"));
    assert!(watermark_table(&lefthash).unwrap_err().message.ends_with("it has no table"));
    assert!(biases(&lefthash, &text[..1], &candidates).starts_with("num_candidates is 3"));
}
