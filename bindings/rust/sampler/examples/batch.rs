//! A batch of requests, each in a slot of a state, which remembers their tokens: each step draws
//! with a penalty, and the state accepts what was drawn. A request whose row is bad ends, and the
//! others go on. Prints:
//!
//! ```text
//! step 0: slot 0 draws 4; slot 1 draws 5; slot 2 draws 6;
//! step 1: slot 0 draws 6; slot 1 draws 7; slot 2 draws 5;
//! step 2: slot 0 draws 5; slot 1 ends: INVALID_VALUE; slot 2 is full;
//! step 3: slot 0 draws 5;
//! step 4: slot 0 is full;
//! slot 0: [1, 2, 4, 6, 5, 5]
//! slot 1: [5, 5, 7]
//! slot 2: [2, 3, 5, 4, 6, 5]
//! ```

use sampler::*;

const PROMPTS: [&[i32]; 3] = [&[1, 2], &[5], &[2, 3, 5, 4]];
const VOCABULARY: usize = 8;
const MAX_TOKENS: usize = 6;

/// Stands for a model that likes the next number best, and breaks after token 7.
fn run_model(last: i32) -> impl Iterator<Item = f32> {
    (0..VOCABULARY as i32).map(move |token| match last {
        7 => f32::NAN,
        _ => 4.0 - 0.25 * ((token - last - 1) as f32).powi(2),
    })
}

fn main() -> Result<(), Error> {
    let num_slots = PROMPTS.len();
    let mut sampler =
        Sampler::new(Options { max_rows: num_slots, max_cols: VOCABULARY, ..Options::default() })?;
    let options = StateOptions { num_slots, max_tokens: MAX_TOKENS, ..StateOptions::default() };
    let mut state = State::new(&mut sampler, options)?;
    let mut ends = vec![0];
    for prompt in PROMPTS {
        ends.push(ends[ends.len() - 1] + prompt.len() as i64);
    }
    state.append(
        &mut sampler,
        &AppendArgs {
            num_rows: num_slots,
            tokens: TokenLists::new(&ends, &PROMPTS.concat()),
            token_kind: TokenKind::Prompt,
            ..AppendArgs::default()
        },
    )?;

    // What all steps have in common.
    let params = Params { frequency_penalty: 0.8, top_p: 0.95, ..Params::default() };
    let mut sample = SampleArgs { params, num_slots, ..SampleArgs::default() };
    let mut accept = AcceptArgs { params, ..AcceptArgs::default() };

    let mut running: Vec<i32> = (0..num_slots as i32).collect(); // slots of the batch's rows
    let mut last = PROMPTS.map(|prompt| prompt[prompt.len() - 1]); // by slot
    let mut offsets = [0; PROMPTS.len()]; // by slot: how many tokens were drawn
    for step in 0.. {
        let logits: Vec<f32> =
            running.iter().flat_map(|&slot| run_model(last[slot as usize])).collect();
        let mut token_ids = vec![0; running.len()];
        let mut row_status = vec![RowStatus::OK; running.len()];
        sampler.sample(&SampleArgs {
            input: Rows::logits(&logits, running.len(), VOCABULARY),
            slots: (&running).into(),
            random: Random { seed: 7, offsets: (&offsets).into(), ..Random::default() },
            pipeline: Some(&Pipeline { state: Some(&state), ..Pipeline::default() }),
            out_token_ids: (&mut token_ids).into(),
            out_row_status: (&mut row_status).into(),
            ..sample.reborrow()
        })?;
        // A bad row's token is -1, which the state passes over.
        let mut accept_status = vec![RowStatus::OK; running.len()];
        state.accept(
            &mut sampler,
            &AcceptArgs {
                slots: (&running).into(),
                token_ids: (&token_ids).into(),
                offsets: (&mut offsets).into(),
                out_row_status: (&mut accept_status).into(),
                ..accept.reborrow()
            },
        )?;

        print!("step {step}:");
        let mut still_running = vec![];
        for (row, &slot) in running.iter().enumerate() {
            let status = row_status[row] | accept_status[row];
            if status.is_ok() {
                print!(" slot {slot} draws {};", token_ids[row]);
                last[slot as usize] = token_ids[row];
                still_running.push(slot);
            } else if status == RowStatus::STATE_FULL {
                print!(" slot {slot} is full;");
            } else {
                print!(" slot {slot} ends: {status:?};");
            }
        }
        println!();
        running = still_running;
        if running.is_empty() {
            break;
        }
    }

    let (mut texts, mut lengths) = ([0; PROMPTS.len() * MAX_TOKENS], [0; PROMPTS.len()]);
    state.read(
        &mut sampler,
        &ReadArgs {
            num_rows: num_slots,
            out_token_ids: (&mut texts).into(),
            num_tokens: MAX_TOKENS,
            out_lengths: (&mut lengths).into(),
            ..ReadArgs::default()
        },
    )?;
    for (slot, text) in texts.chunks(MAX_TOKENS).enumerate() {
        println!("slot {slot}: {:?}", &text[..lengths[slot] as usize]);
    }
    Ok(())
}
