//! Replays the recorded calls of tests/vectors. Their README.md explains the files.
//!
//! With SAMPLER_TEST_DEVICE_REACHES_HOST in the environment, on a CUDA device that reaches the memory of
//! its program: there the arrays are given by their addresses.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

use sampler::*;

mod json;
use json::Json;

// ---- Arrays -------------------------------------------------------------------------------------

#[derive(Clone, Debug)]
enum Buffer {
    F32(Vec<f32>),
    F16(Vec<F16>),
    Bf16(Vec<Bf16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    U8(Vec<u8>),
}

/// `$body`, whatever the type of the vector.
macro_rules! with_values {
    ($buffer:expr, $values:ident => $body:expr) => {
        match $buffer {
            Buffer::F32($values) => $body,
            Buffer::F16($values) => $body,
            Buffer::Bf16($values) => $body,
            Buffer::I32($values) => $body,
            Buffer::I64($values) => $body,
            Buffer::U32($values) => $body,
            Buffer::U64($values) => $body,
            Buffer::U8($values) => $body,
        }
    };
}

impl Buffer {
    /// Element i has the bits `bits[i]`.
    fn new(kind: &str, bits: &[u64]) -> Buffer {
        let bits = bits.iter().copied();
        match kind {
            "f32" => Buffer::F32(bits.map(|bits| f32::from_bits(bits as u32)).collect()),
            "f16" => Buffer::F16(bits.map(|bits| F16(bits as u16)).collect()),
            "bf16" => Buffer::Bf16(bits.map(|bits| Bf16(bits as u16)).collect()),
            "i32" => Buffer::I32(bits.map(|bits| bits as i32).collect()),
            "i64" => Buffer::I64(bits.map(|bits| bits as i64).collect()),
            "u32" => Buffer::U32(bits.map(|bits| bits as u32).collect()),
            "u64" => Buffer::U64(bits.collect()),
            "u8" => Buffer::U8(bits.map(|bits| bits as u8).collect()),
            other => panic!("an array of type {other}"),
        }
    }

    fn read(json: &Json) -> Buffer {
        let data = json["data"].array().iter();
        let bits: Vec<_> = data.map(|element| element.integer() as u64).collect();
        Buffer::new(json["type"].text(), &bits)
    }

    /// An output of the same length as it is before the call.
    fn untouched(json: &Json) -> Buffer {
        let bits = vec![0xcdcd_cdcd_cdcd_cdcd; json["data"].array().len()];
        Buffer::new(json["type"].text(), &bits)
    }

    fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// Takes one element off.
    fn shorten(&mut self) {
        with_values!(self, values => values.truncate(values.len() - 1));
    }

    /// Equal values of f32 may have different bits, and NaN differs from itself.
    fn bytes(&self) -> &[u8] {
        // SAFETY: numbers have no padding.
        with_values!(self, values => unsafe { values.align_to().1 })
    }
}

fn on_device() -> bool {
    env::var_os("SAMPLER_TEST_DEVICE_REACHES_HOST").is_some()
}

/// A buffer, and whether it is lent by its address, as device memory.
struct Lent<B>(B, bool);

/// What may be lent as an array of `$t`.
macro_rules! buffers {
    ($($t:ty: $($variant:ident)*;)*) => {$(
        impl<'a> From<Lent<&'a Buffer>> for Array<'a, $t> {
            fn from(Lent(buffer, on_device): Lent<&'a Buffer>) -> Self {
                match buffer {
                    // SAFETY: a call has done its work when it returns; the buffer outlives it.
                    $(Buffer::$variant(values) if on_device => unsafe {
                        Array::device(values.as_ptr(), values.len())
                    },)*
                    $(Buffer::$variant(values) => values.into(),)*
                    other => panic!("{} of {other:?}", stringify!($t)),
                }
            }
        }

        impl<'a> From<Lent<&'a mut Buffer>> for ArrayMut<'a, $t> {
            fn from(Lent(buffer, on_device): Lent<&'a mut Buffer>) -> Self {
                match buffer {
                    // SAFETY: as above.
                    $(Buffer::$variant(values) if on_device => unsafe {
                        ArrayMut::device(values.as_mut_ptr(), values.len())
                    },)*
                    $(Buffer::$variant(values) => values.into(),)*
                    other => panic!("{} of {other:?}", stringify!($t)),
                }
            }
        }
    )*};
}

buffers! {
    Real: F32 F16 Bf16;
    Id: I32 I64;
    f32: F32;
    i32: I32;
    i64: I64;
    u32: U32;
    RowStatus: U32;
    u64: U64;
    u8: U8;
}

// ---- Cases --------------------------------------------------------------------------------------

type Buffers = BTreeMap<String, Buffer>;

struct Case<'a> {
    json: &'a Json,
    host_parameters: bool,
    inputs: Buffers,
    outputs: Buffers,
}

impl<'a> Case<'a> {
    fn read(json: &'a Json) -> Self {
        let (inputs, outputs) = (json["inputs"].object(), json["outputs"].object());
        let is_output = |name: &str| json["outputs"].get(name).is_some();
        let inputs = inputs.iter().filter(|(name, _)| !is_output(name));
        let outputs = outputs.iter().map(|(name, after)| {
            let before = json["inputs"].get(name);
            let buffer = before.map_or_else(|| Buffer::untouched(after), Buffer::read);
            (name.clone(), buffer)
        });
        Case {
            json,
            host_parameters: false,
            inputs: inputs.map(|(name, json)| (name.clone(), Buffer::read(json))).collect(),
            outputs: outputs.collect(),
        }
    }

    /// An element type that does not exist, and a number of elements without an array: there is no
    /// way to say so in Rust.
    fn cannot_be_written(&self) -> bool {
        let is_missing = |array: String| !self.inputs.contains_key(&array);
        self.json["args"].object().iter().any(|(name, value)| {
            (name.ends_with("dtype") && value.integer() > 2)
                || counted_array(name).map_or(false, is_missing)
        })
    }

    /// Whether the array may be of any length, which is that of other arrays, too.
    fn tells_a_number(&self, array: &str) -> bool {
        let is_its_number = |name: &String| counted_array(name).map_or(false, |name| name == array);
        // Theirs is a number that is 0.
        matches!(array, "random.seeds" | "random.offsets")
            || self.json["args"].object().iter().any(|(name, _)| is_its_number(name))
    }

    fn sampler(&self, has_workspace: bool, num_threads: i32) -> Sampler {
        let (max_rows, max_cols) = if has_workspace { (16, 1500) } else { (0, 0) };
        let options = self.json.get("options");
        Sampler::new(Options {
            device_type: if on_device() { DeviceType::Cuda } else { DeviceType::Cpu },
            num_threads,
            max_rows,
            max_cols,
            host_parameters: self.host_parameters,
            fallback_token_id: options.map(|options| options["fallback_token_id"].integer()),
            ..Options::default()
        })
        .unwrap()
    }

    fn check(&self, result: Result<(), Error>) {
        let name = self.json["name"].text();
        let status = self.json["status"].integer() as i32;
        match result {
            Ok(()) => assert_eq!(status, 0, "{name}"),
            Err(error) => {
                assert_eq!(error.status.raw(), status, "{name}");
                assert_eq!(error.message, self.json["error"].text(), "{name}");
            }
        }
        for (output, buffer) in &self.outputs {
            let expected = Buffer::read(&self.json["outputs"][output]);
            assert_eq!(buffer.bytes(), expected.bytes(), "{name}: {output}");
        }
    }

    fn members(&mut self) -> Members<'_> {
        Members {
            host_parameters: self.host_parameters,
            args: self.json["args"].object(),
            inputs: &self.inputs,
            outputs: RefCell::new(self.outputs.iter_mut().collect()),
            asked: RefCell::default(),
        }
    }
}

/// The array whose length gives a number that the binding has no member for.
fn counted_array(member: &str) -> Option<String> {
    let (of, name) = member.rfind('.').map_or(("", member), |dot| member.split_at(dot + 1));
    if let "layout.num_packed_drafts" | "layout.num_packed_positions" = member {
        // There are as many positions as row indices, or as the packed ids.
        return Some("draft_token_ids".to_string());
    }
    let array = match name {
        "num_seeds" => "seeds",
        "num_offsets" => "offsets",
        "num_row_indices" => "row_indices",
        "num_lists" => "offsets",
        "num_token_ids" => "token_ids",
        "num_guidance_rows" => "guidance_logits",
        "num_dense_biases" => "dense_bias",
        "num_token_bitmasks" => "token_bitmasks",
        _ => return None,
    };
    Some(format!("{of}{array}"))
}

/// What `host_parameters` is about.
fn is_parameter(member: &str) -> bool {
    let starts = ["row_params.", "draft_row_params.", "random.", "selected_counts", "acceptances"];
    starts.iter().any(|start| member.starts_with(start))
}

/// The members of a case, to be asked for by name.
struct Members<'a> {
    host_parameters: bool,
    args: &'a [(String, Json)],
    inputs: &'a Buffers,
    outputs: RefCell<BTreeMap<&'a String, &'a mut Buffer>>,
    asked: RefCell<BTreeSet<String>>,
}

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<i64> {
        self.asked.borrow_mut().insert(name.into());
        let member = self.args.iter().find(|(member, _)| member == name);
        member.map(|(_, value)| value.integer())
    }

    fn input<T>(&self, name: &str) -> Array<'a, T>
    where
        Array<'a, T>: From<Lent<&'a Buffer>>,
    {
        self.asked.borrow_mut().insert(name.into());
        let is_hosts =
            name == "acceptance.synthetic_rates" || (self.host_parameters && is_parameter(name));
        let on_device = on_device() && !is_hosts;
        let buffer = self.inputs.get(name);
        buffer.map_or_else(Array::default, |buffer| Lent(buffer, on_device).into())
    }

    fn output<T>(&self, name: &str) -> ArrayMut<'a, T>
    where
        ArrayMut<'a, T>: From<Lent<&'a mut Buffer>>,
    {
        let buffer = self.outputs.borrow_mut().remove(&name.to_string());
        buffer.map_or_else(ArrayMut::default, |buffer| Lent(buffer, on_device()).into())
    }

    /// Whether the case has what `name` is or points to.
    fn has(&self, name: &str) -> bool {
        let is_of_it =
            |member: &String| member.strip_prefix(name).map_or(false, |rest| rest.starts_with('.'));
        self.args.iter().any(|(member, _)| is_of_it(member)) || self.inputs.keys().any(is_of_it)
    }

    /// Every member was asked for, except those that follow from an array.
    fn check_all_were_asked_for(&self) {
        let follows = |name: &str| name.ends_with("dtype") || name.ends_with("id_type");
        let args = self.args.iter().map(|(name, _)| name);
        for name in args.chain(self.inputs.keys()) {
            let is_known = follows(name)
                || counted_array(name).is_some()
                || self.asked.borrow().contains(name);
            assert!(is_known, "no member {name}");
        }
        assert!(self.outputs.borrow().is_empty());
    }
}

/// What a field of the arguments can be.
trait Member<'a> {
    /// `default` where the case has no such member.
    fn read(members: &Members<'a>, name: &str, default: Self) -> Self;
}

macro_rules! numbers {
    ($($t:ty: |$number:ident| $value:expr;)*) => {$(
        impl<'a> Member<'a> for $t {
            fn read(members: &Members<'a>, name: &str, default: Self) -> Self {
                members.get(name).map_or(default, |$number| $value)
            }
        }
    )*};
}

numbers! {
    f32: |bits| f32::from_bits(bits as u32);
    i32: |number| number as i32;
    u64: |number| number as u64;
    usize: |number| number as usize;
    bool: |number| number != 0;
    InputKind: |number| InputKind::from(number as i32);
    TieRule: |number| TieRule::from(number as i32);
    SumRule: |number| SumRule::from(number as i32);
    FilterOrder: |number| FilterOrder::from(number as i32);
    TemperatureOrder: |number| TemperatureOrder::from(number as i32);
    PenaltyScope: |number| PenaltyScope::from(number as i32);
    PenaltyForm: |number| PenaltyForm::from(number as i32);
    PLessKind: |number| PLessKind::from(number as i32);
    AdaptiveKind: |number| AdaptiveKind::from(number as i32);
    MaskRule: |number| MaskRule::from(number as i32);
    DrawMethod: |number| DrawMethod::from(number as i32);
    LogprobKind: |number| LogprobKind::from(number as i32);
    OutputKind: |number| OutputKind::from(number as i32);
    Acceptance: |number| Acceptance::from(number as i32);
    SiblingRule: |number| SiblingRule::from(number as i32);
    Packing: |number| Packing::from(number as i32);
    TokenKind: |number| TokenKind::from(number as i32);
}

impl<'a, T> Member<'a> for Array<'a, T>
where
    Array<'a, T>: From<Lent<&'a Buffer>>,
{
    fn read(members: &Members<'a>, name: &str, _: Self) -> Self {
        members.input(name)
    }
}

impl<'a, T> Member<'a> for ArrayMut<'a, T>
where
    ArrayMut<'a, T>: From<Lent<&'a mut Buffer>>,
{
    fn read(members: &Members<'a>, name: &str, _: Self) -> Self {
        members.output(name)
    }
}

impl<'a> Member<'a> for [Stage; MAX_STAGES] {
    fn read(members: &Members<'a>, name: &str, default: Self) -> Self {
        members.asked.borrow_mut().insert(name.into());
        match members.inputs.get(name) {
            Some(Buffer::I32(stages)) => std::array::from_fn(|i| Stage::from(stages[i])),
            _ => default,
        }
    }
}

/// Each replay has its own.
impl<'a> Member<'a> for Exec<'a> {
    fn read(_: &Members<'a>, _: &str, default: Self) -> Self {
        default
    }
}

/// That of the case, or its own.
impl<'a> Member<'a> for Option<&'a State> {
    fn read(_: &Members<'a>, _: &str, _: Self) -> Self {
        None
    }
}

/// One that is not there is None, whatever is NULL of it.
impl<'a, T: Member<'a> + Default> Member<'a> for Option<T> {
    fn read(members: &Members<'a>, name: &str, _: Self) -> Self {
        members.has(name).then(|| T::read(members, name, T::default()))
    }
}

/// The memory is never freed: a case has as much.
impl<'a> Member<'a> for Option<&'a Pipeline<'a>> {
    fn read(members: &Members<'a>, name: &str, _: Self) -> Self {
        let pipeline = Option::<Pipeline>::read(members, name, None);
        pipeline.map(|pipeline| &*Box::leak(Box::new(pipeline)))
    }
}

/// Structs, whose members are those of the same names. All of them stand here, or this is no struct.
macro_rules! structs {
    ($($name:ident $(<$life:lifetime>)? { $($member:ident)* })*) => {$(
        impl<'a> Member<'a> for $name $(<$life>)? {
            fn read(members: &Members<'a>, name: &str, default: Self) -> Self {
                let path = |member: &str| match name {
                    "" => member.to_string(),
                    _ => format!("{name}.{member}"),
                };
                $name { $($member: Member::read(members, &path(stringify!($member)), default.$member),)* }
            }
        }
    )*};
}

structs! {
    Rows<'a> {
        values num_rows num_cols row_stride candidate_ids candidate_counts kind
    }
    Params {
        temperature top_p min_p top_k top_k_ties top_p_ties top_p_sum filter_order
        temperature_order
        guidance_scale repetition_penalty frequency_penalty presence_penalty penalty_window penalty_scope
        penalty_form exponential_decay_start exponential_decay_factor dry_multiplier dry_base dry_allowed_length dry_window no_repeat_ngram_size
        min_new_tokens bad_word_scope dynamic_temperature_range dynamic_temperature_exponent
        typical_p top_n_sigma epsilon_cutoff eta_cutoff top_h p_less min_k top_a xtc_probability xtc_threshold
        typical_p_ties typical_p_sum cutoff_ties min_keep stages adaptive_kind adaptive_target adaptive_rate top_p_decay
        top_p_least
    }
    RowParams<'a> {
        temperature top_p min_p top_k guidance_scale repetition_penalty frequency_penalty presence_penalty
        penalty_window exponential_decay_start exponential_decay_factor dry_multiplier dry_base dry_allowed_length dry_window no_repeat_ngram_size
        min_new_tokens dynamic_temperature_range dynamic_temperature_exponent typical_p top_n_sigma
        epsilon_cutoff eta_cutoff top_h p_less min_k top_a xtc_probability xtc_threshold min_keep forced_token_id
        adaptive_kind adaptive_target adaptive_rate top_p_decay top_p_least top_p_reset_token_id
    }
    TokenLists<'a> {
        offsets token_ids
    }
    Pipeline<'a> {
        history prompt_lengths max_history_tokens guidance_logits guidance_row_indices
        biased biases bias_contexts dense_bias
        dense_bias_stride allowed banned stop unpenalized bad_words bad_word_offsets dry_breakers token_bitmasks
        token_bitmask_stride token_bitmask_rule token_bitmask_indices state adaptive_values
    }
    Random<'a> {
        seed offset seeds offsets streams
    }
    SampleArgs<'a> {
        exec input row_indices slots num_slots params row_params random draw_method
        out_token_ids out_row_status pipeline reports
    }
    ReportArgs<'a> {
        logprob_kind out_logprobs out_values out_kept_counts out_observations num_top_logprobs
        out_top_token_ids out_top_logprobs num_chosen chosen_token_ids out_chosen_logprobs out_ranks
        out_entropies out_kept_bitmask kept_bitmask_stride kept_capacity out_kept_token_ids
        out_kept_probabilities out_kept_offsets out_removed_by
    }
    AcceptanceParams<'a> {
        rule sibling_rule draw_method relaxed_top_k relaxed_delta typical_threshold typical_scale
        threshold_single threshold_total deferred_entropy deferred_top_k deferred_window synthetic_rates
    }
    DraftLayout<'a> {
        target_sequence_stride draft_sequence_stride draft_token_stride packing draft_rows_by_slot
        packing_offsets num_sequences target_row_indices bonus_row_indices draft_row_indices parents
        first_children next_siblings tree_rows
    }
    FilterArgs<'a> {
        exec input slots num_slots params row_params output_kind output output_stride
        out_kept_counts out_row_status pipeline
    }
    SelectArgs<'a> {
        exec input num_selected selected_counts out_values out_token_ids out_counts out_row_status
    }
    VerifyArgs<'a> {
        exec target draft draft_token_ids num_drafts draft_counts layout slots num_slots params
        row_params draft_params draft_row_params pipeline forced_token_ids random acceptance acceptances
        accumulate_counts out_token_ids out_accepted_counts out_emitted_counts
        out_row_status reports out_positions kv_indices out_kv_indices
    }
    ResidualArgs<'a> {
        exec target draft draft_token_ids output output_stride out_row_status
    }
    AppendArgs<'a> {
        exec slots num_rows tokens token_kind out_lengths out_row_status
    }
    AcceptArgs<'a> {
        exec slots num_rows token_ids num_tokens observations params row_params offsets out_lengths
        out_row_status
    }
    TruncateArgs<'a> {
        exec slots num_rows lengths out_row_status
    }
    CopyArgs<'a> {
        exec source source_slots destination_slots out_row_status
    }
    ResetArgs<'a> {
        exec slots num_rows adaptive_values out_row_status
    }
    ReadArgs<'a> {
        exec slots num_rows out_token_ids num_tokens out_lengths out_prompt_lengths
        out_adaptive_values out_row_status
    }
}

impl<'a> Members<'a> {
    fn args<T: Member<'a> + Default>(&self) -> T {
        T::read(self, "", T::default())
    }
}

// ---- Calls --------------------------------------------------------------------------------------

macro_rules! replay {
    ($call:ident, $workspace_size:ident: $args:ty) => {
        #[test]
        fn $call() {
            fn run(
                case: &mut Case,
                sampler: &mut Sampler,
                workspace: ArrayMut<u8>,
            ) -> Result<(), Error> {
                let members = case.members();
                let mut args: $args = members.args();
                members.check_all_were_asked_for();
                args.exec.workspace = workspace;
                sampler.$call(&args)
            }

            fn run_with_the_samplers_workspace(
                json: &Json,
                num_threads: i32,
                host_parameters: bool,
            ) {
                let mut case = Case::read(json);
                case.host_parameters = host_parameters;
                let mut sampler = case.sampler(true, num_threads);
                // A call that is refused has no size.
                let bytes = match json.get("workspace") {
                    Some(_) => sampler.$workspace_size(&case.members().args::<$args>()),
                    None => Ok(0),
                };
                let mut workspace = Buffer::U8(vec![0; bytes.unwrap_or(0)]);
                let workspace = match workspace.len() {
                    0 => ArrayMut::default(),
                    _ => Lent(&mut workspace, on_device()).into(),
                };
                let result = run(&mut case, &mut sampler, workspace);
                case.check(result);
            }

            fn run_with_own_workspace(json: &Json) {
                let mut case = Case::read(json);
                let mut sampler = case.sampler(false, 1);
                let bytes = sampler.$workspace_size(&case.members().args::<$args>()).unwrap();
                if bytes > 0 {
                    let mut too_small = vec![0u8; bytes - 1];
                    let error = run(&mut case, &mut sampler, (&mut too_small).into()).unwrap_err();
                    assert_eq!(error.status, Status::WorkspaceTooSmall);
                }
                let mut workspace = vec![0u8; bytes];
                let result = run(&mut case, &mut sampler, (&mut workspace).into());
                case.check(result);
            }

            /// Arrays in the files have the least length, so one element less is refused.
            fn run_with_short_arrays(json: &Json) {
                let whole = Case::read(json);
                for (name, buffer) in whole.inputs.iter().chain(&whole.outputs) {
                    if buffer.len() == 0 || name == "params.stages" || whole.tells_a_number(name) {
                        continue;
                    }
                    let mut case = Case::read(json);
                    let mut arrays = case.inputs.iter_mut().chain(&mut case.outputs);
                    arrays.find(|array| array.0 == name).unwrap().1.shorten();
                    let before = case.outputs.clone();
                    let mut sampler = case.sampler(true, 1);
                    let error = run(&mut case, &mut sampler, ArrayMut::default()).unwrap_err();
                    assert_eq!(error.status, Status::InvalidArgument);
                    let needs = name.split_once('.').map_or("this call", |(of, _)| of);
                    let (len, needed) = (buffer.len() - 1, buffer.len());
                    let message = format!("{name} has {len} elements; {needs} needs {needed}");
                    assert_eq!(error.message, message, "{}", json["name"].text());
                    for (before, after) in before.values().zip(case.outputs.values()) {
                        assert_eq!(before.bytes(), after.bytes());
                    }
                }
            }

            let call = stringify!($call);
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../../tests/vectors")
                .join(call)
                .with_extension("json");
            let file = Json::parse(&fs::read_to_string(path).unwrap());
            assert_eq!(file["operation"].text(), call);
            let cases = file["cases"].array();
            let (left_out, cases): (Vec<_>, Vec<_>) =
                cases.iter().partition(|json| Case::read(json).cannot_be_written());
            assert!(left_out.len() <= 3 && cases.len() > 20);
            assert!(left_out.iter().all(|json| json["status"].integer() != 0));
            for json in cases {
                run_with_the_samplers_workspace(json, 1, false);
                if on_device() {
                    run_with_the_samplers_workspace(json, 1, true);
                } else {
                    run_with_the_samplers_workspace(json, 3, false);
                    if json["status"].integer() == 0 {
                        run_with_own_workspace(json);
                        run_with_short_arrays(json);
                    }
                }
            }
        }
    };
}

replay!(sample, sample_workspace_size: SampleArgs);
replay!(filter, filter_workspace_size: FilterArgs);
replay!(select, select_workspace_size: SelectArgs);
replay!(verify, verify_workspace_size: VerifyArgs);
replay!(residual, residual_workspace_size: ResidualArgs);

// ---- States -------------------------------------------------------------------------------------

/// A call of a state, or a draw with it.
fn run_of_state(case: &mut Case, sampler: &mut Sampler, state: &mut State) -> Result<(), Error> {
    let name = case.json["name"].text();
    let first_slot = case.json["args"].get("first_slot").map_or(0, Json::integer) as usize;
    let members = case.members();
    macro_rules! call {
        ($call:ident: $args:ident) => {{
            let args: $args = members.args();
            members.check_all_were_asked_for();
            state.$call(sampler, &args)
        }};
    }
    match name {
        "append" => call!(append: AppendArgs),
        "accept" => call!(accept: AcceptArgs),
        "truncate" => call!(truncate: TruncateArgs),
        "reset" => call!(reset: ResetArgs),
        "read" => call!(read: ReadArgs),
        "copy" => {
            members.get("num_rows"); // the length of its arrays
            call!(copy: CopyArgs)
        }
        "sample" => {
            let pipeline = Pipeline { state: Some(state), ..Pipeline::default() };
            let mut args: SampleArgs = members.args();
            args.pipeline = Some(&pipeline);
            members.check_all_were_asked_for();
            let mut workspace = vec![0; sampler.sample_workspace_size(&args)?];
            args.exec.workspace = (&mut workspace).into();
            sampler.sample(&args)
        }
        "serialize" => {
            let num_slots = members.get("num_slots").unwrap() as usize;
            let data = state.serialize(sampler, first_slot, num_slots)?;
            drop(members);
            case.outputs.insert("out_data".into(), Buffer::U8(data));
            Ok(())
        }
        "deserialize" => {
            let data = match &members.inputs["data"] {
                Buffer::U8(data) => data,
                other => panic!("{other:?} are no bytes"),
            };
            let num_slots = state.deserialize(sampler, first_slot, data)?;
            drop(members);
            case.outputs.insert("out_num_slots".into(), Buffer::I64(vec![num_slots as i64]));
            Ok(())
        }
        other => panic!("no call {other}"),
    }
}

#[test]
fn state() {
    if on_device() {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors/state.json");
    let file = Json::parse(&fs::read_to_string(path).unwrap());
    for json in file["cases"].array() {
        let options = |name: &str| json["options"][name].integer();
        let mut sampler = Sampler::new(Options::default()).unwrap();
        let options = StateOptions {
            num_slots: options("num_slots") as usize,
            max_tokens: options("max_tokens") as usize,
            max_distinct_tokens: options("max_distinct_tokens") as usize,
            keep_adaptive_values: options("keep_adaptive_values") != 0,
        };
        let mut state = State::new(&mut sampler, options).unwrap();
        let calls = json["calls"].array();
        assert!(calls.len() > 20);
        for call in calls {
            let mut case = Case::read(call);
            let result = run_of_state(&mut case, &mut sampler, &mut state);
            case.check(result);
        }
    }
}

/// All memory is the device's there, so that no parameter is where it should be.
#[test]
fn pointers_are_checked_where_asked() {
    if !on_device() {
        return;
    }
    let mut sampler = Sampler::new(Options {
        device_type: DeviceType::Cuda,
        max_rows: 1,
        max_cols: 2,
        host_parameters: true,
        check_pointers: true,
        ..Options::default()
    })
    .unwrap();
    let (values, seeds, mut ids) = ([0.0f32, 1.0], [1], [7; 1]);
    // SAFETY: the arrays outlive the call.
    let (input, out) = unsafe {
        (Array::<Real>::device(values.as_ptr(), 2), ArrayMut::<Id>::device(ids.as_mut_ptr(), 1))
    };
    let args = SampleArgs {
        input: Rows::logits(input, 1, 2),
        random: Random { seeds: (&seeds).into(), ..Random::default() },
        out_token_ids: out,
        ..SampleArgs::default()
    };
    let error = sampler.sample(&args).unwrap_err();
    let (name, rule) = ("random.seeds is 0x", "; it must be host memory, with host_parameters");
    assert!(error.message.starts_with(name) && error.message.ends_with(rule));
    assert_eq!(ids, [7]);
}
