"""FlashInfer's sampling API on libsampler: the functions of `flashinfer.sampling`, and the pipelines of
`flashinfer.logits_processor`, as of FlashInfer 0.7.2, on CPU tensors as on CUDA. It needs torch.

    from libsampler import flashinfer

    token_ids = flashinfer.sampling.top_k_top_p_sampling_from_logits(logits, 50, 0.95)

docs/python.md has what differs.
"""

from . import logits_processor as logits_processor
from . import sampling as sampling
from .sampling import (
    chain_speculative_sampling as chain_speculative_sampling,
    min_p_sampling_from_probs as min_p_sampling_from_probs,
    sampling_from_logits as sampling_from_logits,
    sampling_from_probs as sampling_from_probs,
    softmax as softmax,
    top_k_mask_logits as top_k_mask_logits,
    top_k_renorm_probs as top_k_renorm_probs,
    top_k_sampling_from_probs as top_k_sampling_from_probs,
    top_k_top_p_sampling_from_logits as top_k_top_p_sampling_from_logits,
    top_k_top_p_sampling_from_probs as top_k_top_p_sampling_from_probs,
    top_p_renorm_probs as top_p_renorm_probs,
    top_p_sampling_from_probs as top_p_sampling_from_probs,
)
