//! Samplers leave no memory behind. Takes seconds, so it runs only when asked for by --ignored.

use std::fs;

use sampler::*;

/// Resident memory of this process.
fn resident_kib() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A life of a sampler: built with a log, used well and wrongly, dropped before a state.
fn live(num_threads: i32) {
    let options = |num_threads| Options {
        num_threads,
        max_rows: 1,
        max_cols: 5,
        log: Some(Box::new(|_, _| ())),
        ..Options::default()
    };
    let mut sampler = Sampler::new(options(num_threads)).unwrap();
    let mut token_ids = [0; 1];
    let mut logits = Rows::logits(&[1.0, 2.0], 1, 2);
    sampler.argmax(&logits, &mut token_ids).unwrap();
    logits.num_cols = 0;
    sampler.argmax(&logits, &mut token_ids).unwrap_err();
    let options_of_state = StateOptions { num_slots: 2, max_tokens: 8, ..Default::default() };
    let state = State::new(&mut sampler, options_of_state).unwrap();
    drop(sampler); // the state keeps it
    drop(state);
    assert!(Sampler::new(options(-1)).is_err());
}

#[test]
#[ignore]
fn memory_does_not_grow_with_samplers_built_and_dropped() {
    for (num_threads, count) in [(1, 100_000), (2, 10_000)] {
        for _ in 0..count / 5 {
            live(num_threads);
        }
        let before = resident_kib();
        for _ in count / 5..count {
            live(num_threads);
        }
        let growth = resident_kib() - before;
        // 80,000 samplers of 100 bytes that leak would be 8 MiB. The allocator keeps some pages.
        assert!(growth < 2048, "{growth} KiB more after {count} samplers");
    }
}
