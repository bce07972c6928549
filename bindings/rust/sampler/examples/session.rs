//! A server around a decoding session: requests join while others run, long prompts are fed in parts,
//! repeated text is drafted, and a stop sequence ends one. Prints:
//!
//! ```text
//! step 0: sequence 0 ran 5 tokens, new: [];
//! step 1: sequence 0 ran 1 tokens, new: [2];
//! step 2: sequence 0 ran 4 tokens, new: [3, 4, 5, 6]; sequence 1 ran 1 tokens, new: [];
//! step 3: sequence 0 ran 1 tokens, new: [7]; ends: StopSequence; sequence 1 ran 1 tokens, new: [7];
//! step 4: sequence 1 ran 1 tokens, new: [0]; ends: EndToken;
//! ```

use sampler::*;

const MAX_SEQUENCES: usize = 4;
const CONTEXT: usize = 32;
const VOCABULARY: usize = 8;
const MAX_DRAFTS: usize = 3;

/// Stands for the model and its caches: the rows of logits that the spans want. This one needs no more
/// of a cache than the last token; others cut that of `span.sequence()` to `span.start()` first.
fn run_model(spans: &[Span], mut token_ids: &[i32]) -> Vec<f32> {
    let mut logits = vec![];
    for span in spans {
        let (own, others) = token_ids.split_at(span.num_tokens());
        for last in &own[own.len() - span.num_logits()..] {
            logits.extend((0..VOCABULARY as i32).map(|token| match token - last {
                1 | -7 => 4.0,
                _ => (token * 5 % 8) as f32 * 0.25,
            }));
        }
        token_ids = others;
    }
    logits
}

fn start_request(
    session: &mut Session,
    prompt: &[i32],
    temperature: f32,
    seed: u64,
) -> Result<i32, Error> {
    session.add(&AddArgs {
        token_ids: prompt,
        params: Some(Params { temperature, top_p: 0.9, ..Params::default() }),
        seed,
        max_new_tokens: 10,
        end_token_ids: &[0],
        stop_sequences: TokenLists::new(&[0, 2], &[6, 7]),
        draft_source: DraftSource::PromptLookup,
        ..AddArgs::default()
    })
}

fn main() -> Result<(), Error> {
    let options = SessionOptions {
        max_sequences: MAX_SEQUENCES,
        max_context: CONTEXT,
        vocabulary_size: VOCABULARY,
        max_drafts: MAX_DRAFTS,
        lookup_tokens: CONTEXT,
        max_end_tokens: 1,
        max_stop_sequences: 1,
        max_stop_tokens: 2,
        ..SessionOptions::default()
    };
    let mut session = Session::new(Sampler::new(Options::default())?, &options)?;
    let mut plan = Plan::default();
    let mut token_ids = [0; MAX_SEQUENCES * (MAX_DRAFTS + 1)];
    let (mut counts, mut reasons) = ([0; MAX_SEQUENCES], [0; MAX_SEQUENCES]);
    let mut cache_lengths = [0; MAX_SEQUENCES]; // what a real cache is cut to

    start_request(&mut session, &[1, 2, 3, 4, 5, 1], 0.0, 1)?; // greedy
    for step in 0.. {
        if step == 2 {
            start_request(&mut session, &[5, 6], 0.8, 2)?; // joins a running batch
        }
        session.plan(&PlanArgs { max_tokens: 5, ..PlanArgs::default() }, &mut plan)?;
        if plan.spans().is_empty() {
            break;
        }
        let logits = run_model(plan.spans(), plan.token_ids());
        session.advance(&AdvanceArgs {
            spans: plan.spans(),
            logits: (&logits).into(),
            out_token_ids: (&mut token_ids).into(),
            out_counts: (&mut counts).into(),
            out_finish_reasons: (&mut reasons).into(),
            out_cache_lengths: (&mut cache_lengths).into(),
            ..AdvanceArgs::default()
        })?;

        print!("step {step}:");
        for (i, span) in plan.spans().iter().enumerate() {
            let new = &token_ids[i * (MAX_DRAFTS + 1)..][..counts[i] as usize];
            let sequence = span.sequence();
            print!(" sequence {sequence} ran {} tokens, new: {new:?};", span.num_tokens());
            match FinishReason::from(reasons[i]) {
                FinishReason::None => continue,
                FinishReason::BadRow => {
                    print!(" ends: {:?};", session.get(sequence)?.row_status)
                }
                reason => print!(" ends: {reason:?};"),
            }
            session.remove(sequence)?;
        }
        println!();
    }
    Ok(())
}
