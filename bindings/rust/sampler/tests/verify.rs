//! Verification by other rules, of packed batches and trees, with stages and reports.

use sampler::*;

const NUM_COLS: usize = 5;

fn new_sampler() -> Sampler {
    Sampler::new(Options { max_rows: 8, max_cols: 40, ..Options::default() }).unwrap()
}

/// Rows of logits whose largest ones are those of `tokens`.
fn rows_of(tokens: &[usize]) -> Vec<f32> {
    let row = |&token: &usize| {
        let mut row = [2.0, 1.5, 0.5, 1.0, 0.0];
        row[token] = 3.0;
        row
    };
    tokens.iter().flat_map(row).collect()
}

fn greedy() -> Params {
    Params { temperature: 0.0, ..Params::default() }
}

/// The call has 2 sequences of at most 2 drafts, with the same arguments otherwise.
fn refused(message: &str, args: VerifyArgs) {
    const ROWS: [f32; 240] = [0.0; 240];
    let (mut token_ids, drafts) = ([77i32; 6], [0i32; 4]);
    let draft_token_ids = if args.layout.packing == Packing::Dense {
        (&drafts).into()
    } else {
        (&drafts[..3]).into()
    };
    let args = VerifyArgs {
        target: Rows::logits(&ROWS, 6, 40),
        num_drafts: 2,
        layout: DraftLayout { num_sequences: args.layout.num_sequences.max(2), ..args.layout },
        draft_token_ids,
        out_token_ids: (&mut token_ids).into(),
        ..args
    };
    let error = new_sampler().verify(&args).unwrap_err();
    assert_eq!((error.status, &error.message[..]), (Status::InvalidArgument, message));
    assert_eq!(token_ids, [77; 6]);
}

/// The arrays have `$got` elements where `$needed` are needed, with other members besides.
macro_rules! refuse_lengths {
    ($($($member:ident).+ [$($array:tt)+] $got:literal / $needed:literal
       $(, $($other:ident).+: $value:expr)*;)*) => {$(
        let mut args = VerifyArgs::default();
        args.$($member).+ = (&$($array)+[..$got]).into();
        $(args.$($other).+ = $value;)*
        let name = concat!($(".", stringify!($member)),+).trim_start_matches('.');
        let who = name.rsplit_once('.').map_or("this call", |(of, _)| of);
        refused(&format!("{name} has {} elements; {who} needs {}", $got, $needed), args);
    )*};
}

#[test]
fn short_reports_are_refused() {
    let (mut ids, mut reals, mut words, mut long) =
        ([0i32; 20], [0.0f32; 20], [0u32; 20], [0i64; 20]);
    refuse_lengths!(
        reports.out_kept_counts [mut ids] 5 / 6;
        reports.out_logprobs [mut reals] 5 / 6;
        reports.out_ranks [mut ids] 5 / 6;
        reports.out_entropies [mut reals] 5 / 6;
        reports.out_observations [mut reals] 5 / 6;
        reports.out_top_token_ids [mut ids] 17 / 18, reports.num_top_logprobs: 3;
        reports.out_top_logprobs [mut reals] 17 / 18, reports.num_top_logprobs: 3;
        reports.out_kept_bitmask [mut words] 11 / 12;
        reports.out_kept_bitmask [mut words] 17 / 18, reports.kept_bitmask_stride: 3;
        reports.out_kept_token_ids [mut ids] 17 / 18, reports.kept_capacity: 3;
        reports.out_kept_probabilities [mut reals] 17 / 18, reports.kept_capacity: 3;
        out_positions [mut ids] 5 / 6;
        kv_indices [long] 5 / 6;
        out_kv_indices [mut long] 5 / 6;
    );
    for (name, is_top) in
        [("reports.out_top_token_ids", true), ("reports.out_kept_token_ids", false)]
    {
        let (top, kept) = long.split_at_mut(10);
        let none = ArrayMut::default;
        refused(
            &format!("draft_token_ids is i32 and {name} i64; they must be the same"),
            VerifyArgs {
                reports: ReportArgs {
                    out_top_token_ids: if is_top { top.into() } else { none() },
                    out_kept_token_ids: if is_top { none() } else { kept.into() },
                    ..ReportArgs::default()
                },
                ..VerifyArgs::default()
            },
        );
    }
}

#[test]
fn short_inputs_are_refused() {
    let (ids, reals) = ([0i32; 20], [0.0f32; 20]);
    refuse_lengths!(
        acceptances [ids] 1 / 2;
        acceptances [ids] 6 / 7, slots: (&[0, 0]).into(), num_slots: 7;
        acceptance.synthetic_rates [reals] 1 / 2;
        layout.packing_offsets [ids] 2 / 3, layout.packing: Packing::Drafts;
        layout.packing_offsets [ids] 1 / 2, layout.packing: Packing::DraftEnds;
        layout.packing_offsets [ids] 2 / 3, layout.packing: Packing::Positions;
        layout.target_row_indices [ids] 5 / 6;
        layout.target_row_indices [ids] 3 / 4, layout.bonus_row_indices: (&ids[..2]).into();
        layout.bonus_row_indices [ids] 1 / 2;
        layout.draft_row_indices [ids] 3 / 4;
        layout.draft_row_indices [ids] 2 / 3, layout.packing: Packing::Drafts;
        layout.target_row_indices [ids] 4 / 5, layout.packing: Packing::Drafts;
        layout.target_row_indices [ids] 2 / 3, layout.packing: Packing::Positions;
        layout.target_row_indices [ids] 2 / 3, layout.packing: Packing::Drafts,
            layout.bonus_row_indices: (&ids[..2]).into();
        layout.parents [ids] 3 / 4;
        layout.parents [ids] 1 / 2, layout.tree_rows: 1;
        layout.first_children [ids] 5 / 6;
        layout.next_siblings [ids] 2 / 3, layout.tree_rows: 1;
    );
    refused(
        "draft_token_ids has 4 elements; this call needs 5",
        VerifyArgs {
            layout: DraftLayout { draft_token_stride: 3, ..DraftLayout::default() },
            ..VerifyArgs::default()
        },
    );
    let short = RowParams { top_k: (&ids[..1]).into(), ..RowParams::default() };
    refused(
        "draft_row_params.top_k has 1 elements; draft_row_params needs 2",
        VerifyArgs { draft_row_params: Some(short), ..VerifyArgs::default() },
    );
    let pipeline = Pipeline { token_bitmask_indices: (&ids[..5]).into(), ..Pipeline::default() };
    refused(
        "pipeline.token_bitmask_indices has 5 elements; pipeline needs 6",
        VerifyArgs { pipeline: Some(&pipeline), ..VerifyArgs::default() },
    );
}

/// Rows that are indexed or packed are as many as their views say.
#[test]
fn short_rows_are_refused() {
    let short = |num_rows| Some(Rows::logits(&[0.0; 199], num_rows, 40));
    let needs = "draft.values has 199 elements; draft needs 200";
    let ids = [0i32; 6];
    let default = DraftLayout::default;
    for layout in [
        DraftLayout { packing: Packing::Drafts, ..default() },
        DraftLayout { draft_rows_by_slot: true, ..default() },
        DraftLayout { draft_row_indices: (&ids).into(), ..default() },
    ] {
        refused(needs, VerifyArgs { draft: short(5), layout, ..VerifyArgs::default() });
    }
    let mut token_ids = [77i32; 6];
    for layout in [
        DraftLayout { packing: Packing::Drafts, ..default() },
        DraftLayout { target_row_indices: (&ids).into(), ..default() },
    ] {
        let args = VerifyArgs {
            target: short(5).unwrap(),
            num_drafts: 2,
            layout: DraftLayout { num_sequences: 2, ..layout },
            draft_token_ids: (&ids).into(),
            out_token_ids: (&mut token_ids).into(),
            ..VerifyArgs::default()
        };
        let error = new_sampler().verify(&args).unwrap_err();
        assert_eq!(error.message, "target.values has 199 elements; target needs 200");
    }
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let refused_rule = |message: &str, rule| {
        let acceptance = AcceptanceParams { rule, ..AcceptanceParams::default() };
        refused(message, VerifyArgs { acceptance, ..VerifyArgs::default() });
    };
    let refused_layout =
        |message: &str, layout| refused(message, VerifyArgs { layout, ..VerifyArgs::default() });
    let refused_reports =
        |message: &str, reports| refused(message, VerifyArgs { reports, ..VerifyArgs::default() });
    refused_rule(
        "acceptance->rule is 9; it must be one of its constants, 0 to 8",
        Acceptance::from(9),
    );
    refused_rule(
        "acceptance->rule is 8; SAMPLER_ACCEPT_SYNTHETIC needs acceptance->synthetic_rates",
        Acceptance::Synthetic,
    );
    refused(
        "acceptance->sibling_rule is -1; it must be one of its constants, 0 to 1",
        VerifyArgs {
            acceptance: AcceptanceParams {
                sibling_rule: SiblingRule::from(-1),
                ..AcceptanceParams::default()
            },
            ..VerifyArgs::default()
        },
    );
    refused_layout(
        "layout->packing is 4; it must be one of its constants, 0 to 3",
        DraftLayout { packing: Packing::from(4), ..DraftLayout::default() },
    );
    refused_layout(
        "layout->num_sequences is 3; it must be 0, or target.num_rows / (num_drafts + 1), 2",
        DraftLayout { num_sequences: 3, ..DraftLayout::default() },
    );
    refused_layout(
        "layout->packing_offsets is NULL; it is required",
        DraftLayout { packing: Packing::Drafts, ..DraftLayout::default() },
    );
    refused_reports(
        "reports->logprob_kind is 3; it must be one of its constants, 0 to 2",
        ReportArgs { logprob_kind: LogprobKind::from(3), ..ReportArgs::default() },
    );
    refused_reports(
        "reports->num_top_logprobs is 41; it must be below 41",
        ReportArgs { num_top_logprobs: 41, ..ReportArgs::default() },
    );
}

/// The tokens, and what is reported of them, are those of sampling.
#[test]
fn sample_match_is_sampling() {
    let mut sampler = new_sampler();
    let rows = rows_of(&[1, 2, 4]);
    let params = Params { top_k: 3, ..Params::default() };
    for offset in 0..20 {
        let mut tokens = [77; 3];
        let (mut logprobs, mut ranks, mut entropies) = ([77.0; 3], [77; 3], [77.0; 3]);
        let (mut top_ids, mut top_logprobs) = ([77; 6], [77.0; 6]);
        let (mut bitmask, mut kept_counts) = ([77; 3], [77; 3]);
        let (mut kept_ids, mut probabilities) = ([77; 9], [77.0; 9]);
        for i in 0..3 {
            let args = SampleArgs {
                input: Rows::logits(&rows[i * NUM_COLS..], 1, NUM_COLS),
                params,
                random: Random::new(7, offset + i as u64),
                out_token_ids: (&mut tokens[i..]).into(),
                reports: ReportArgs {
                    out_logprobs: (&mut logprobs[i..]).into(),
                    out_ranks: (&mut ranks[i..]).into(),
                    out_entropies: (&mut entropies[i..]).into(),
                    num_top_logprobs: 2,
                    out_top_token_ids: (&mut top_ids[2 * i..]).into(),
                    out_top_logprobs: (&mut top_logprobs[2 * i..]).into(),
                    out_kept_bitmask: (&mut bitmask[i..]).into(),
                    out_kept_counts: (&mut kept_counts[i..]).into(),
                    kept_capacity: 3,
                    out_kept_token_ids: (&mut kept_ids[3 * i..]).into(),
                    out_kept_probabilities: (&mut probabilities[3 * i..]).into(),
                    ..ReportArgs::default()
                },
                ..SampleArgs::default()
            };
            sampler.sample(&args).unwrap();
        }
        // The second draft is another token than the one that is drawn.
        let drafts = [tokens[0], (tokens[1] + 1) % 5];
        let (mut got, mut emitted, mut status) = ([77; 3], [77; 1], [RowStatus::from(77); 1]);
        let (mut got_logprobs, mut got_ranks, mut got_entropies) = ([77.0; 3], [77; 3], [77.0; 3]);
        let (mut got_top_ids, mut got_top_logprobs) = ([77; 6], [77.0; 6]);
        let (mut got_bitmask, mut got_kept_counts) = ([77; 3], [77; 3]);
        let (mut got_kept_ids, mut got_probabilities) = ([77; 9], [77.0; 9]);
        let (mut observations, mut positions, mut kv_indices) = ([77.0; 3], [77; 3], [77; 3]);
        let args = VerifyArgs {
            target: Rows::logits(&rows, 3, NUM_COLS),
            acceptance: AcceptanceParams {
                rule: Acceptance::SampleMatch,
                ..AcceptanceParams::default()
            },
            num_drafts: 2,
            draft_token_ids: (&drafts).into(),
            params,
            random: Random::new(7, offset),
            out_token_ids: (&mut got).into(),
            out_emitted_counts: (&mut emitted).into(),
            out_row_status: (&mut status).into(),
            reports: ReportArgs {
                out_logprobs: (&mut got_logprobs).into(),
                out_ranks: (&mut got_ranks).into(),
                out_entropies: (&mut got_entropies).into(),
                out_observations: (&mut observations).into(),
                num_top_logprobs: 2,
                out_top_token_ids: (&mut got_top_ids).into(),
                out_top_logprobs: (&mut got_top_logprobs).into(),
                out_kept_bitmask: (&mut got_bitmask).into(),
                out_kept_counts: (&mut got_kept_counts).into(),
                kept_capacity: 3,
                out_kept_token_ids: (&mut got_kept_ids).into(),
                out_kept_probabilities: (&mut got_probabilities).into(),
                ..ReportArgs::default()
            },
            out_positions: (&mut positions).into(),
            kv_indices: (&[30, 20, 10]).into(),
            out_kv_indices: (&mut kv_indices).into(),
            ..VerifyArgs::default()
        };
        sampler.verify(&args).unwrap();
        assert_eq!((emitted, status), ([1], [RowStatus::OK]));
        assert_eq!(got, [tokens[0], tokens[1], -1]);
        assert_eq!((positions, kv_indices), ([0, 1, -1], [30, 20, -1]));
        assert!(observations.iter().all(|x| x.is_nan()));
        assert_eq!((&got_logprobs[..2], got_logprobs[2].is_nan()), (&logprobs[..2], true));
        assert_eq!((&got_entropies[..2], got_entropies[2].is_nan()), (&entropies[..2], true));
        assert_eq!(got_ranks, [ranks[0], ranks[1], 0]);
        assert_eq!((&got_top_ids[..4], &got_top_ids[4..]), (&top_ids[..4], &[-1, -1][..]));
        assert_eq!(got_top_logprobs[..4], top_logprobs[..4]);
        assert!(got_top_logprobs[4..].iter().all(|x| x.is_nan()));
        assert_eq!(got_bitmask, [bitmask[0], bitmask[1], 0]);
        assert_eq!(got_kept_counts, [kept_counts[0], kept_counts[1], 0]);
        assert_eq!((&got_kept_ids[..6], &got_kept_ids[6..]), (&kept_ids[..6], &[-1, -1, -1][..]));
        assert_eq!(got_probabilities[..6], probabilities[..6]);
        assert_eq!(got_probabilities[6..], [0.0; 3]);
    }
}

/// Two drafts hang on the root, the third on the second.
#[test]
fn trees_are_walked_down() {
    let mut sampler = new_sampler();
    let rows = rows_of(&[1, 0, 2, 4]);
    let (parents, no_parents) = ([-1, -1, 1], [0, -1, 1]);
    let (first_children, next_siblings) = ([1, -1, 3, -1], [-1, 2, -1, -1]);
    let default = DraftLayout::default;
    for (layout, is_tree) in [
        (DraftLayout { parents: (&parents).into(), ..default() }, true),
        (DraftLayout { parents: (&parents).into(), tree_rows: 1, ..default() }, true),
        (
            DraftLayout {
                first_children: (&first_children).into(),
                next_siblings: (&next_siblings).into(),
                ..default()
            },
            true,
        ),
        (DraftLayout { parents: (&no_parents).into(), ..default() }, false),
    ] {
        let (mut got, mut positions, mut emitted, mut status) =
            ([77; 4], [77; 4], [77; 1], [RowStatus::from(77); 1]);
        let args = VerifyArgs {
            target: Rows::logits(&rows, 4, NUM_COLS),
            num_drafts: 3,
            draft_token_ids: (&[3, 1, 2]).into(),
            params: greedy(),
            out_token_ids: (&mut got).into(),
            out_emitted_counts: (&mut emitted).into(),
            out_positions: (&mut positions).into(),
            out_row_status: (&mut status).into(),
            layout,
            ..VerifyArgs::default()
        };
        sampler.verify(&args).unwrap();
        if is_tree {
            assert_eq!((got, positions, emitted), ([1, 2, 4, -1], [0, 2, 3, -1], [2]));
            assert_eq!(status, [RowStatus::OK]);
        } else {
            assert_eq!((got, status), ([-1; 4], [RowStatus::INVALID_TREE]));
        }
    }
}

/// Sequences of 2, 0 and 1 drafts, in every layout.
#[test]
fn packed_batches_are_unpacked() {
    let mut sampler = new_sampler();
    let rows = rows_of(&[1, 2, 3, 4, 0, 1]);
    let (draft_offsets, position_offsets) = ([0, 2, 2, 3], [0, 3, 4, 6]);
    let (packed, by_position, dense) = ([1, 3, 0], [77, 1, 3, 77, 77, 0], [1, 3, 0, 0, 0, 0]);
    // The rows lie the other way round.
    let reversed: Vec<f32> = rows.chunks(NUM_COLS).rev().flatten().copied().collect();
    let default = || DraftLayout { num_sequences: 3, ..DraftLayout::default() };
    let layouts = [
        (
            &rows,
            &packed[..],
            Array::default(),
            DraftLayout {
                packing: Packing::Drafts,
                packing_offsets: (&draft_offsets).into(),
                ..default()
            },
        ),
        (
            &rows,
            &packed[..],
            Array::default(),
            DraftLayout {
                packing: Packing::DraftEnds,
                packing_offsets: (&draft_offsets[1..]).into(),
                ..default()
            },
        ),
        (
            &rows,
            &by_position[..],
            Array::default(),
            DraftLayout {
                packing: Packing::Positions,
                packing_offsets: (&position_offsets).into(),
                ..default()
            },
        ),
        (
            &reversed,
            &packed[..],
            Array::default(),
            DraftLayout {
                packing: Packing::Drafts,
                packing_offsets: (&draft_offsets).into(),
                target_row_indices: (&[5, 4, 3, 2, 1, 0]).into(),
                ..default()
            },
        ),
        (
            &reversed,
            &packed[..],
            Array::default(),
            DraftLayout {
                packing: Packing::Drafts,
                packing_offsets: (&draft_offsets).into(),
                target_row_indices: (&[5, 4, 1]).into(),
                bonus_row_indices: (&[3, 2, 0]).into(),
                ..default()
            },
        ),
        (
            &reversed,
            &dense[..],
            Array::from(&[2, 0, 1]),
            DraftLayout {
                target_row_indices: (&[5, 4, 3, 2, -1, -1, 1, 0, -1]).into(),
                ..default()
            },
        ),
    ];
    for (i, (rows, token_ids, counts, layout)) in layouts.into_iter().enumerate() {
        let (mut got, mut emitted, mut status) = ([77; 9], [77; 3], [RowStatus::from(77); 3]);
        let args = VerifyArgs {
            target: Rows::logits(rows, 6, NUM_COLS),
            num_drafts: 2,
            draft_token_ids: token_ids.into(),
            draft_counts: counts,
            params: greedy(),
            out_token_ids: (&mut got).into(),
            out_emitted_counts: (&mut emitted).into(),
            out_row_status: (&mut status).into(),
            layout,
            ..VerifyArgs::default()
        };
        if let Err(error) = sampler.verify(&args) {
            panic!("layout {i}: {error}");
        }
        assert_eq!((emitted, status), ([1, 0, 1], [RowStatus::OK; 3]), "layout {i}");
        assert_eq!(got, [1, 2, -1, 4, -1, -1, 0, 1, -1], "layout {i}");
    }
}

/// Without drafts sequences may have nothing but a bonus row each, of any number of rows.
#[test]
fn bonus_rows_say_how_many_sequences_are_given() {
    let mut sampler = new_sampler();
    let rows = rows_of(&[1, 4]);
    let mut verify = |token_ids: &mut [i32]| {
        sampler.verify(&VerifyArgs {
            target: Rows::logits(&rows, 2, NUM_COLS),
            layout: DraftLayout {
                num_sequences: 3,
                bonus_row_indices: (&[1, 0, 1]).into(),
                ..DraftLayout::default()
            },
            params: greedy(),
            out_token_ids: token_ids.into(),
            ..VerifyArgs::default()
        })
    };
    let mut token_ids = [77; 3];
    verify(&mut token_ids).unwrap();
    assert_eq!(token_ids, [4, 1, 4]);
    let error = verify(&mut token_ids[..2]).unwrap_err();
    assert_eq!(error.message, "out_token_ids has 2 elements; this call needs 3");
}

/// Drafts' rows of each slot are where vLLM has them.
#[test]
fn draft_rows_are_found() {
    let mut sampler = new_sampler();
    // The target gives every draft probability 0.5. It is accepted where its row gives it 0, and by
    // a coin where that gives it 1.
    let target = [0.5f32, 0.5].repeat(4);
    let (certain, unlikely) = ([1.0f32, 0.0], [0.0f32, 1.0]);
    let second_is_certain = [unlikely, certain, unlikely].concat();
    let others_are = [certain, unlikely, certain].concat();
    let (first_and_last, second) = ([0, 2], [1, 1]);
    for (rows, indices, slots, is_accepted) in [
        (&second_is_certain, Some(&first_and_last), None, true),
        (&second_is_certain, Some(&second), None, false),
        (&second_is_certain, None, Some(&first_and_last), true),
        (&others_are, None, Some(&first_and_last), false),
    ] {
        let mut num_accepted = 0;
        for offset in 0..40 {
            let (mut token_ids, mut emitted) = ([77; 4], [77; 2]);
            let args = VerifyArgs {
                target: Rows::probabilities(&target, 4, 2),
                draft: Some(Rows::probabilities(rows, 3, 2)),
                num_drafts: 1,
                draft_token_ids: (&[0, 0]).into(),
                random: Random::new(3, offset),
                out_token_ids: (&mut token_ids).into(),
                out_emitted_counts: (&mut emitted).into(),
                layout: DraftLayout {
                    draft_row_indices: indices.map_or(Array::default(), Array::from),
                    draft_rows_by_slot: slots.is_some(),
                    ..DraftLayout::default()
                },
                slots: slots.map_or(Array::default(), Array::from),
                num_slots: slots.map_or(0, |_| 3),
                ..VerifyArgs::default()
            };
            sampler.verify(&args).unwrap();
            num_accepted += emitted.iter().sum::<i32>();
        }
        assert_eq!(num_accepted == 80, is_accepted);
    }
}

/// The draft's row is the target's, so its first token is accepted, unless only the draft is cut to
/// that one.
#[test]
fn drafts_have_parameters_of_their_own() {
    let mut sampler = new_sampler();
    let rows = rows_of(&[1, 2]);
    let (off, one) = ([0], [1]);
    let top_1 = Params { top_k: 1, ..Params::default() };
    let row_params = |top_k| RowParams { top_k: Array::from(top_k), ..RowParams::default() };
    for (draft_params, draft_row_params, is_accepted) in [
        (None, None, true),
        (Some(Params::default()), None, true),
        (Some(top_1), None, false),
        (None, Some(row_params(&one)), false),
        (Some(top_1), Some(row_params(&off)), true),
        (Some(Params::default()), Some(row_params(&one)), false),
    ] {
        let mut num_accepted = 0;
        for offset in 0..40 {
            let (mut got, mut emitted) = ([77; 2], [77; 1]);
            let args = VerifyArgs {
                target: Rows::logits(&rows, 2, NUM_COLS),
                draft: Some(Rows::logits(&rows[..NUM_COLS], 1, NUM_COLS)),
                num_drafts: 1,
                draft_token_ids: (&[1]).into(),
                random: Random::new(3, offset),
                draft_params,
                draft_row_params,
                out_token_ids: (&mut got).into(),
                out_emitted_counts: (&mut emitted).into(),
                ..VerifyArgs::default()
            };
            sampler.verify(&args).unwrap();
            num_accepted += emitted[0];
        }
        assert_eq!(num_accepted == 40, is_accepted);
    }
}

/// Without the banned token, token 0 is the row's largest.
#[test]
fn stages_are_of_the_target() {
    let mut sampler = new_sampler();
    let rows = rows_of(&[1, 2]);
    let pipeline = Pipeline { banned: TokenLists::new(&[0, 1], &[1]), ..Pipeline::default() };
    for (pipeline, wanted) in [(None, [1, 2]), (Some(&pipeline), [0, -1])] {
        let (mut got, mut status) = ([77; 2], [RowStatus::from(77); 1]);
        let args = VerifyArgs {
            target: Rows::logits(&rows, 2, NUM_COLS),
            num_drafts: 1,
            draft_token_ids: (&[1]).into(),
            params: greedy(),
            pipeline,
            out_token_ids: (&mut got).into(),
            out_row_status: (&mut status).into(),
            ..VerifyArgs::default()
        };
        sampler.verify(&args).unwrap();
        assert_eq!((got, status), (wanted, [RowStatus::OK]));
    }
}
