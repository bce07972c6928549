#include "decoding/session/gamma_control.h"

#include <new>

namespace sampler::decoding {

GammaControl::GammaControl(const SessionConfig &config, const SessionHost *host,
                           SequenceTable *table, const Drafting *drafting, SessionArrays *arrays)
    : counts_all_(host->rules().measures_rounds),
      table_(*table),
      drafting_(*drafting),
      measured_(arrays->take<MeasuredGamma>(config.options.has_adaptive_gamma)) {
  if (!config.options.has_adaptive_gamma || counts_all_) {
    measured_ = nullptr;
  } else if (measured_) {
    new (measured_) MeasuredGamma(config.options.clock, config.options.clock_user);
  }
}

bool GammaControl::begin_plan(abi::Entry &entry, const sampler_session_plan_args &args) {
  if (!measured_) return false;
  const int64_t count = args.sequences ? args.num_sequences : table_.num_sequences();
  const auto each = [&](const auto &visit) {
    for (int64_t i = 0; i < count; ++i) {
      SessionSequence &own = table_[args.sequences ? args.sequences[i] : i];
      if (own.runs()) visit(own);
    }
  };
  const auto begins = [](const SessionSequence &own) {
    return own.gamma_rule == SAMPLER_GAMMA_MEASURED && own.is_drafting && own.num_new() > 0 &&
           !own.is_in_step;
  };
  bool is_clean = true;
  each([&](const SessionSequence &own) { is_clean = is_clean && begins(own); });
  // Beside other sequences each step of the drafter would cost them a step of the target, too.
  const auto drafts = [&](const SessionSequence &own) {
    return own.is_drafting && (is_clean || own.source != SAMPLER_DRAFTS_MODEL);
  };
  RoundTexts texts;
  each([&](const SessionSequence &own) {
    if (begins(own)) own.add_to(&texts, drafts(own));
  });
  if (texts.num_texts > 0) {
    const int64_t num_positions = measured_->choose(texts, is_clean);
    round_ = {texts.num_texts, is_clean, false};
    each([&](SessionSequence &own) {
      if (!begins(own)) return;
      own.limit_drafts(drafts(own) ? num_positions : 0);
      own.is_in_step = true;
    });
    measured_->start(&entry);
  }
  bool is_waiting = false;
  each([&](const SessionSequence &own) {
    is_waiting = is_waiting || (own.is_in_step && drafting_.needs_drafter(own));
  });
  return is_waiting;
}

void GammaControl::end_plan(abi::Entry &entry, const sampler_session_plan_args &args) {
  if (!measured_ || !round_.is_clean) return;
  const int64_t num_spans = *args.out_num_spans;
  const int64_t num_drafter_spans = args.out_num_drafter_spans ? *args.out_num_drafter_spans : 0;
  bool is_alone = num_spans + num_drafter_spans <= round_.num_texts;
  for (int64_t i = 0; is_alone && i < num_spans; ++i) {
    const sampler_span &span = args.out_spans[i];
    const SessionSequence &own = table_[span.sequence];
    // Accepted drafts off a tree's first path are fed again.
    const int64_t num_again = own.group == DraftGroup::kTrees ? own.most_drafts : 0;
    is_alone = own.is_in_step && span.num_tokens <= span.num_logits + num_again;
  }
  for (int64_t i = 0; is_alone && i < num_drafter_spans; ++i) {
    is_alone = table_[args.out_drafter_spans[i].sequence].is_in_step;
  }
  round_.is_drafted = is_alone && num_spans == round_.num_texts;
  // Sequences with complete drafts must be planned together; else the round does not count.
  round_.is_clean = is_alone && (round_.is_drafted || num_spans == 0);
  if (round_.is_drafted) measured_->mark_drafted(&entry);
}

void GammaControl::begin_spans(const sampler_session_advance_args &args) {
  verified_ = {};
  ends_round_ = false;
  if (!measured_ || !round_.is_drafted || args.num_spans == 0) return;
  ends_round_ = args.num_spans == round_.num_texts && args.num_drafter_spans == 0;
  round_.is_clean = round_.is_drafted = false;
}

void GammaControl::count(const sampler_span &span, int64_t before, int64_t num_kept) {
  const SessionSequence &own = table_[span.sequence];
  if (!counts_all_ && !own.is_in_step) return;
  verified_.add(drafting_.wanted(own, before), drafting_.depth_of(span.sequence), span.num_tokens,
                num_kept, own.runs());
}

void GammaControl::end_spans(abi::Entry &entry) {
  if (ends_round_) {
    measured_->finish(&entry, verified_);
  } else if (measured_ && verified_.num_texts > 0) {
    measured_->finish_untimed(verified_);
  }
}

RoundTexts GammaControl::round_texts() const {
  RoundTexts texts;
  for (int64_t i = 0; i < table_.num_sequences(); ++i) {
    if (table_[i].runs()) table_[i].add_to(&texts, table_[i].is_drafting);
  }
  return texts;
}

void GammaControl::limit_drafts(int64_t num_positions) {
  for (int64_t i = 0; i < table_.num_sequences(); ++i) table_[i].limit_drafts(num_positions);
}

}  // namespace sampler::decoding
