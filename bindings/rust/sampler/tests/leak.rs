//! Memory that samplers leave behind. Takes seconds, so it runs only when asked for by --ignored.

use std::fs;

use sampler::*;

/// Resident memory of this process.
fn resident_kib() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A life of a sampler: built with a log, used well and wrongly, dropped.
fn live(num_threads: i32) {
    let mut sampler = Sampler::builder()
        .num_threads(num_threads)
        .max_rows(1)
        .max_cols(5)
        .log(|_, _| ())
        .build()
        .unwrap();
    let mut token_ids = [0i32; 1];
    let mut args = Argmax::new();
    args.input(&[1.0, 2.0])
        .num_rows(1)
        .num_cols(2)
        .out_token_ids(&mut token_ids);
    sampler.argmax(&args).unwrap();
    sampler.argmax(args.num_cols(0)).unwrap_err();
    assert!(Sampler::builder()
        .num_threads(-1)
        .log(|_, _| ())
        .build()
        .is_err());
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
