//! Parameters by an engine's name.

use sampler::*;

fn place(params: &Params, stage: Stage) -> usize {
    params.stages.iter().position(|&one| one == stage).unwrap()
}

/// Rules of two engines that docs/coming-from.md has.
#[test]
fn presets_are_those_of_the_engines() {
    let llama = Params::preset("llama.cpp").unwrap();
    assert_eq!((llama.temperature, llama.top_k), (0.8, 40));
    assert_eq!((llama.top_p, llama.min_p, llama.penalty_window), (0.95, 0.05, 64));
    assert_eq!(llama.penalty_scope, PenaltyScope::All);
    for (first, then) in
        [(Stage::Dry, Stage::TopK), (Stage::TopK, Stage::TopP), (Stage::Xtc, Stage::Temperature)]
    {
        assert!(place(&llama, first) < place(&llama, then));
    }
    let vllm = Params::preset("vllm").unwrap();
    assert_eq!((vllm.temperature, vllm.top_k_ties), (1.0, TieRule::Keep));
    assert_eq!(vllm.penalty_form, PenaltyForm::Reciprocal);
    assert_eq!(vllm.bad_word_scope, PenaltyScope::Output);

    // What they say is taken.
    let options = Options { max_rows: 1, max_cols: 5, ..Options::default() };
    let mut token_ids = [-1];
    let args = SampleArgs {
        input: Rows::logits(&[2.0, 2.5, 1.5, -1.0, 0.0], 1, 5),
        params: Params { top_k: 2, ..vllm },
        out_token_ids: (&mut token_ids).into(),
        ..SampleArgs::default()
    };
    Sampler::new(options).unwrap().sample(&args).unwrap();
    assert!([0, 1].contains(&token_ids[0]));
}

#[test]
fn presets_are_listed() {
    let names = Params::preset_names().unwrap();
    for name in &names {
        Params::preset(name).unwrap();
        Params::preset(name.split('@').next().unwrap()).unwrap();
    }
    for engine in [
        "llama.cpp",
        "vllm",
        "vllm_v2",
        "sglang",
        "tensorrt_llm",
        "hugging_face",
        "flashinfer",
        "hf_vllm_aligned",
        "nano_vllm",
    ] {
        assert!(names.iter().any(|name| name.starts_with(engine)), "{engine}");
    }
}

#[test]
fn other_names_are_refused() {
    let names = Params::preset_names().unwrap().join(", ");
    for name in ["", "llama", "vllm@9", "vllm@"] {
        let error = Params::preset(name).unwrap_err();
        assert_eq!(error.status, Status::InvalidArgument);
        let message =
            format!("name is \"{name}\"; it must be one of {names}, the version may be left out");
        assert_eq!(error.message, message);
    }
    let error = Params::preset("vllm\0").unwrap_err();
    assert_eq!(error.message, "name has a zero byte; it must have none");
}
