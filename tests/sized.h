// The library's structs as callers make them.
#ifndef SAMPLER_TESTS_SIZED_H_
#define SAMPLER_TESTS_SIZED_H_

#include <sampler/sampler.h>

// All 0 except struct_size.
template <class Struct>
Struct sized() {
  Struct result = {};
  result.struct_size = sizeof result;
  return result;
}

// Arguments with the structs that they point to, of their own where no others are set. Copies point
// to copies.

template <class Args>
struct WithReports : Args {
  sampler_report_args report_args = sized<sampler_report_args>();

  WithReports() : WithReports(sized<Args>()) {}
  WithReports(const Args &args) : Args(args) {
    if (!args.reports) this->reports = &report_args;
  }
  WithReports(const WithReports &other) : Args(other), report_args(other.report_args) {
    if (other.reports == &other.report_args) this->reports = &report_args;
  }
  WithReports &operator=(const WithReports &other) {
    static_cast<Args &>(*this) = other;
    report_args = other.report_args;
    if (other.reports == &other.report_args) this->reports = &report_args;
    return *this;
  }
};

template <class Base>
struct WithAcceptance : Base {
  sampler_acceptance_params acceptance_params = sized<sampler_acceptance_params>();

  WithAcceptance() : WithAcceptance(sized<Base>()) {}
  WithAcceptance(const Base &base) : Base(base) {
    if (!base.acceptance) this->acceptance = &acceptance_params;
  }
  WithAcceptance(const WithAcceptance &other)
      : Base(other), acceptance_params(other.acceptance_params) {
    if (other.acceptance == &other.acceptance_params) this->acceptance = &acceptance_params;
  }
  WithAcceptance &operator=(const WithAcceptance &other) {
    Base::operator=(other);
    acceptance_params = other.acceptance_params;
    if (other.acceptance == &other.acceptance_params) this->acceptance = &acceptance_params;
    return *this;
  }
};

struct VerifyArgs : WithAcceptance<WithReports<sampler_verify_args>> {
  sampler_draft_layout draft_layout = sized<sampler_draft_layout>();

  VerifyArgs() { layout = &draft_layout; }
  VerifyArgs(const VerifyArgs &other)
      : WithAcceptance<WithReports<sampler_verify_args>>(other), draft_layout(other.draft_layout) {
    if (other.layout == &other.draft_layout) layout = &draft_layout;
  }
  VerifyArgs &operator=(const VerifyArgs &other) {
    WithAcceptance<WithReports<sampler_verify_args>>::operator=(other);
    draft_layout = other.draft_layout;
    if (other.layout == &other.draft_layout) layout = &draft_layout;
    return *this;
  }
};

struct UnmaskArgs : sampler_unmask_args {
  sampler_unmask_params unmask_params = sized<sampler_unmask_params>();

  UnmaskArgs() : sampler_unmask_args(sized<sampler_unmask_args>()) { params = &unmask_params; }
  UnmaskArgs(const UnmaskArgs &other)
      : sampler_unmask_args(other), unmask_params(other.unmask_params) {
    if (other.params == &other.unmask_params) params = &unmask_params;
  }
  UnmaskArgs &operator=(const UnmaskArgs &other) {
    sampler_unmask_args::operator=(other);
    unmask_params = other.unmask_params;
    if (other.params == &other.unmask_params) params = &unmask_params;
    return *this;
  }
};

using SampleArgs = WithReports<sampler_sample_args>;
using AdvanceArgs = WithReports<sampler_session_advance_args>;

using SessionOptions = WithAcceptance<sampler_session_options>;

struct SpeculativeArgs : WithAcceptance<sampler_speculative_args> {
  SpeculativeArgs() : SpeculativeArgs(sampler_speculative_args_default()) {}
  SpeculativeArgs(const sampler_speculative_args &args)
      : WithAcceptance<sampler_speculative_args>(args) {}
};

template <>
inline SampleArgs sized<SampleArgs>() {
  return {};
}
template <>
inline WithReports<sampler_verify_args> sized<WithReports<sampler_verify_args>>() {
  return {};
}
template <>
inline AdvanceArgs sized<AdvanceArgs>() {
  return {};
}
template <>
inline VerifyArgs sized<VerifyArgs>() {
  return {};
}
template <>
inline SessionOptions sized<SessionOptions>() {
  return {};
}

#endif  // SAMPLER_TESTS_SIZED_H_
