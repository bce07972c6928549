"""libsampler.transformers in transformers' own `generate`, with a small random model."""

import unittest
import warnings

import support

try:
    import torch
    import transformers

    import libsampler.torch as operators
    from libsampler.transformers import SeededSampler, generate, options_of
except ModuleNotFoundError as error:
    if error.name not in ("torch", "transformers"):
        raise
    transformers = None


@unittest.skipIf(transformers is None, "transformers is not installed")
class Generate(support.Expects, unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")  # of transformers itself
        torch.manual_seed(3)
        self.model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=97, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=96,
            initializer_range=1.0)).eval()
        self.prompt = torch.randint(1, 96, (4, 5))
        self.seeds = [11, 22, 33, 44]

    def texts(self, prompt=None, seeds=None, **options):
        prompt = self.prompt if prompt is None else prompt
        return self.model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=True, max_new_tokens=12,
            pad_token_id=0, custom_generate=generate, seeds=self.seeds if seeds is None else seeds,
            **options).tolist()

    def by_hand(self, prompt, seed, **options):
        text = prompt.clone()[None]
        for step in range(12):
            logits = self.model(text).logits[:, -1].float()
            token = operators.sample(logits, torch.tensor([seed]), step, int64=True, **options)
            text = torch.cat([text, token[None]], dim=1)
            if token == 96:
                break
        return text[0].tolist()

    @staticmethod
    def without_padding(text):
        return text[:text.index(96, 5) + 1] if 96 in text[5:] else text

    def test_texts_are_the_loop_s_by_hand(self):
        for options in ({}, {"temperature": 0.7}, {"top_k": 5}, {"top_k": 0, "top_p": 0.8},
                        {"min_p": 0.1, "typical_p": 0.9, "temperature": 1.3}):
            own = {"preset": "hugging_face", "top_k": 50, **options}
            for text, prompt, seed in zip(self.texts(**options), self.prompt, self.seeds, strict=True):
                self.assertEqual(self.without_padding(text), self.by_hand(prompt, seed, **own), options)

    def test_a_row_s_text_is_its_own(self):
        texts = self.texts()
        order = [2, 0, 3, 1]
        moved = self.texts(self.prompt[order], [self.seeds[i] for i in order])
        self.assertEqual(moved, [texts[i] for i in order])
        for i in range(4):
            alone = self.texts(self.prompt[i:i + 1], self.seeds[i:i + 1])[0]
            self.assertEqual(alone, texts[i][:len(alone)])

    def test_processors_stay_and_options_come_on_top(self):
        banned = list(range(10, 90))
        for text in self.texts(suppress_tokens=banned, repetition_penalty=1.2):
            self.assertFalse(set(text[5:]) & set(banned))
        bigrams = self.texts(sampler_options={"no_repeat_ngram_size": 1})
        for text in bigrams:
            new = self.without_padding(text)
            self.assertEqual(len(new), len(set(new)) + len(new[:5]) - len(set(new[:5])))

    def test_options_of_stages_that_transformers_lacks(self):
        stages = [1, 3, 5, 2, 4, 6, 11, 16, 17, 18, 7, 9, 10, 15]  # of the preset, with DRY and XTC
        options = {"dry_multiplier": 5.0, "dry_allowed_length": 1, "xtc_probability": 0.5}
        for row, text in enumerate(self.texts(sampler_options=options)):
            for step in range(len(self.without_padding(text)) - 5):
                history = torch.tensor(text[:5 + step])
                logits = self.model(history[None]).logits[:, -1].float()
                token = operators.sample(
                    logits, torch.tensor([self.seeds[row]]), step, preset="hugging_face", stages=stages,
                    history=(torch.tensor([0, len(history)]), history), **options)
                self.assertEqual(token.item(), text[5 + step])
        self.assertNotEqual(self.texts(sampler_options={"dry_multiplier": 5.0, "dry_allowed_length": 1}),
                            self.texts())

    def test_seeds(self):
        drawn = []
        for _ in range(2):  # without seeds they are of torch's generator
            torch.manual_seed(9)
            drawn.append(self.model.generate(self.prompt, do_sample=True, max_new_tokens=8, pad_token_id=0,
                                             custom_generate=generate).tolist())
        self.assertEqual(drawn[0], drawn[1])
        same = self.texts(self.prompt[:1].expand(4, -1), 7)  # one seed: rows draw independently
        self.assertGreater(len({tuple(text) for text in same}), 1)
        wide = [2**64 - seed for seed in self.seeds]
        self.assertEqual(self.texts(seeds=wide), self.texts(seeds=[-seed for seed in self.seeds]))
        self.expect(ValueError, "there are 2 seeds for 4 rows; each row needs one", self.texts, seeds=[1, 2])

    def test_a_prompt_of_embeddings(self):
        embeddings = self.model.transformer.wte(self.prompt).detach()
        found = self.model.generate(
            inputs_embeds=embeddings, attention_mask=torch.ones_like(self.prompt), do_sample=True,
            max_new_tokens=12, pad_token_id=0, custom_generate=generate, seeds=self.seeds)
        self.assertEqual(found.tolist(), [text[5:] for text in self.texts()])

    def test_greedy_is_transformers_own(self):
        arguments = {"max_new_tokens": 6, "pad_token_id": 0, "do_sample": False}
        self.assertTrue(torch.equal(self.model.generate(self.prompt, **arguments),
                                    self.model.generate(self.prompt, custom_generate=generate, **arguments)))

    def test_as_a_processor(self):
        found = self.model.generate(
            self.prompt, do_sample=False, max_new_tokens=12, pad_token_id=0,
            logits_processor=transformers.LogitsProcessorList([SeededSampler(self.seeds, top_k=5)]))
        for text, prompt, seed in zip(found.tolist(), self.prompt, self.seeds, strict=True):
            self.assertEqual(self.without_padding(text), self.by_hand(prompt, seed, top_k=5))

    def test_every_warper_is_replaced(self):
        config = transformers.GenerationConfig(temperature=0.5, top_k=3, top_p=0.5, min_p=0.1, typical_p=0.5,
                                               epsilon_cutoff=0.1, eta_cutoff=0.1)
        self.assertLessEqual({"temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff",
                              "eta_cutoff"}, set(options_of(config)))
        self.expect_like(ValueError, "watermarking_config is set", self.texts,
                         watermarking_config=transformers.WatermarkingConfig())


if __name__ == "__main__":
    unittest.main()
