// Made from libsampler's headers by bindings/swig/generate_parameters.py; do not edit.
//! Parameters for C, and from it.

use sampler_sys as sys;

use crate::check::Place;
use crate::constants::*;
use crate::views::{Params, RowParams};
use crate::Error;

#[rustfmt::skip]
impl Params {
    pub(crate) const fn from_raw(c: &sys::sampler_params) -> Params {
        Params {
            temperature: c.temperature,
            top_p: c.top_p,
            min_p: c.min_p,
            top_k: c.top_k,
            top_k_ties: TieRule::from_raw(c.top_k_ties),
            top_p_ties: TieRule::from_raw(c.top_p_ties),
            filter_order: FilterOrder::from_raw(c.filter_order),
            temperature_order: TemperatureOrder::from_raw(c.temperature_order),
            guidance_scale: c.guidance_scale,
            repetition_penalty: c.repetition_penalty,
            frequency_penalty: c.frequency_penalty,
            presence_penalty: c.presence_penalty,
            penalty_window: c.penalty_window,
            penalty_scope: PenaltyScope::from_raw(c.penalty_scope),
            penalty_form: PenaltyForm::from_raw(c.penalty_form),
            exponential_decay_start: c.exponential_decay_start,
            exponential_decay_factor: c.exponential_decay_factor,
            dry_multiplier: c.dry_multiplier,
            dry_base: c.dry_base,
            dry_allowed_length: c.dry_allowed_length,
            dry_window: c.dry_window,
            no_repeat_ngram_size: c.no_repeat_ngram_size,
            min_new_tokens: c.min_new_tokens,
            bad_word_scope: PenaltyScope::from_raw(c.bad_word_scope),
            dynamic_temperature_range: c.dynamic_temperature_range,
            dynamic_temperature_exponent: c.dynamic_temperature_exponent,
            typical_p: c.typical_p,
            top_n_sigma: c.top_n_sigma,
            epsilon_cutoff: c.epsilon_cutoff,
            eta_cutoff: c.eta_cutoff,
            top_h: c.top_h,
            p_less: PLessKind::from_raw(c.p_less),
            min_k: c.min_k,
            top_a: c.top_a,
            xtc_probability: c.xtc_probability,
            xtc_threshold: c.xtc_threshold,
            typical_p_ties: TieRule::from_raw(c.typical_p_ties),
            min_keep: c.min_keep,
            stages: Stage::array_from_raw(c.stages),
            adaptive_kind: AdaptiveKind::from_raw(c.adaptive_kind),
            adaptive_target: c.adaptive_target,
            adaptive_rate: c.adaptive_rate,
            top_p_decay: c.top_p_decay,
            top_p_least: c.top_p_least,
            top_p_sum: SumRule::from_raw(c.top_p_sum),
            typical_p_sum: SumRule::from_raw(c.typical_p_sum),
            cutoff_ties: TieRule::from_raw(c.cutoff_ties),
        }
    }

    pub(crate) fn raw(&self) -> sys::sampler_params {
        sys::sampler_params {
            temperature: self.temperature,
            top_p: self.top_p,
            min_p: self.min_p,
            top_k: self.top_k,
            top_k_ties: self.top_k_ties.raw(),
            top_p_ties: self.top_p_ties.raw(),
            filter_order: self.filter_order.raw(),
            temperature_order: self.temperature_order.raw(),
            guidance_scale: self.guidance_scale,
            repetition_penalty: self.repetition_penalty,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            penalty_window: self.penalty_window,
            penalty_scope: self.penalty_scope.raw(),
            penalty_form: self.penalty_form.raw(),
            exponential_decay_start: self.exponential_decay_start,
            exponential_decay_factor: self.exponential_decay_factor,
            dry_multiplier: self.dry_multiplier,
            dry_base: self.dry_base,
            dry_allowed_length: self.dry_allowed_length,
            dry_window: self.dry_window,
            no_repeat_ngram_size: self.no_repeat_ngram_size,
            min_new_tokens: self.min_new_tokens,
            bad_word_scope: self.bad_word_scope.raw(),
            dynamic_temperature_range: self.dynamic_temperature_range,
            dynamic_temperature_exponent: self.dynamic_temperature_exponent,
            typical_p: self.typical_p,
            top_n_sigma: self.top_n_sigma,
            epsilon_cutoff: self.epsilon_cutoff,
            eta_cutoff: self.eta_cutoff,
            top_h: self.top_h,
            p_less: self.p_less.raw(),
            min_k: self.min_k,
            top_a: self.top_a,
            xtc_probability: self.xtc_probability,
            xtc_threshold: self.xtc_threshold,
            typical_p_ties: self.typical_p_ties.raw(),
            min_keep: self.min_keep,
            stages: self.stages.map(Stage::raw),
            adaptive_kind: self.adaptive_kind.raw(),
            adaptive_target: self.adaptive_target,
            adaptive_rate: self.adaptive_rate,
            top_p_decay: self.top_p_decay,
            top_p_least: self.top_p_least,
            top_p_sum: self.top_p_sum.raw(),
            typical_p_sum: self.typical_p_sum.raw(),
            cutoff_ties: self.cutoff_ties.raw(),
            ..sys::sampler_params::INIT
        }
    }
}

#[rustfmt::skip]
impl RowParams<'_> {
    /// `of` is the member of the arguments.
    pub(crate) fn raw_of(&self, place: Place, of: &str, slots: usize) -> Result<sys::sampler_row_params, Error> {
        let place = place.of_parameters();
        Ok(sys::sampler_row_params {
            temperature: place.array(of, "temperature", &self.temperature, slots)?,
            top_p: place.array(of, "top_p", &self.top_p, slots)?,
            min_p: place.array(of, "min_p", &self.min_p, slots)?,
            top_k: place.array(of, "top_k", &self.top_k, slots)?,
            guidance_scale: place.array(of, "guidance_scale", &self.guidance_scale, slots)?,
            repetition_penalty: place.array(of, "repetition_penalty", &self.repetition_penalty, slots)?,
            frequency_penalty: place.array(of, "frequency_penalty", &self.frequency_penalty, slots)?,
            presence_penalty: place.array(of, "presence_penalty", &self.presence_penalty, slots)?,
            penalty_window: place.array(of, "penalty_window", &self.penalty_window, slots)?,
            exponential_decay_start: place.array(of, "exponential_decay_start", &self.exponential_decay_start, slots)?,
            exponential_decay_factor: place.array(of, "exponential_decay_factor", &self.exponential_decay_factor, slots)?,
            dry_multiplier: place.array(of, "dry_multiplier", &self.dry_multiplier, slots)?,
            dry_base: place.array(of, "dry_base", &self.dry_base, slots)?,
            dry_allowed_length: place.array(of, "dry_allowed_length", &self.dry_allowed_length, slots)?,
            dry_window: place.array(of, "dry_window", &self.dry_window, slots)?,
            no_repeat_ngram_size: place.array(of, "no_repeat_ngram_size", &self.no_repeat_ngram_size, slots)?,
            min_new_tokens: place.array(of, "min_new_tokens", &self.min_new_tokens, slots)?,
            dynamic_temperature_range: place.array(of, "dynamic_temperature_range", &self.dynamic_temperature_range, slots)?,
            dynamic_temperature_exponent: place.array(of, "dynamic_temperature_exponent", &self.dynamic_temperature_exponent, slots)?,
            typical_p: place.array(of, "typical_p", &self.typical_p, slots)?,
            top_n_sigma: place.array(of, "top_n_sigma", &self.top_n_sigma, slots)?,
            epsilon_cutoff: place.array(of, "epsilon_cutoff", &self.epsilon_cutoff, slots)?,
            eta_cutoff: place.array(of, "eta_cutoff", &self.eta_cutoff, slots)?,
            top_h: place.array(of, "top_h", &self.top_h, slots)?,
            p_less: place.array(of, "p_less", &self.p_less, slots)?,
            min_k: place.array(of, "min_k", &self.min_k, slots)?,
            top_a: place.array(of, "top_a", &self.top_a, slots)?,
            xtc_probability: place.array(of, "xtc_probability", &self.xtc_probability, slots)?,
            xtc_threshold: place.array(of, "xtc_threshold", &self.xtc_threshold, slots)?,
            min_keep: place.array(of, "min_keep", &self.min_keep, slots)?,
            forced_token_id: place.array(of, "forced_token_id", &self.forced_token_id, slots)?,
            adaptive_kind: place.array(of, "adaptive_kind", &self.adaptive_kind, slots)?,
            adaptive_target: place.array(of, "adaptive_target", &self.adaptive_target, slots)?,
            adaptive_rate: place.array(of, "adaptive_rate", &self.adaptive_rate, slots)?,
            top_p_decay: place.array(of, "top_p_decay", &self.top_p_decay, slots)?,
            top_p_least: place.array(of, "top_p_least", &self.top_p_least, slots)?,
            top_p_reset_token_id: place.array(of, "top_p_reset_token_id", &self.top_p_reset_token_id, slots)?,
            ..sys::sampler_row_params::INIT
        })
    }
}
