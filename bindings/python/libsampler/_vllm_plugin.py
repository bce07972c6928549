"""vLLM's plugin, which each of its processes loads: it changes nothing unless VLLM_PLUGINS names it."""

import os


def load() -> None:
    if "libsampler" in os.environ.get("VLLM_PLUGINS", "").split(","):
        from .vllm_sampler import register

        register()
