#!/usr/bin/env python3
"""Writes a GPT-2 as llama.cpp reads it.

    to_gguf.py FOLDER OUTPUT [VOCAB]

FOLDER is one of examples/tiny_gpt2. With VOCAB the rows of the vocabulary are repeated up to VOCAB tokens, each a
little changed: the model is as good as before for times alone, and has no tokenizer.
"""

import json
import pathlib
import sys

import gguf
import numpy

TENSORS = {'wte': 'token_embd', 'wpe': 'position_embd', 'ln_f': 'output_norm', 'ln_1': 'attn_norm',
           'ln_2': 'ffn_norm', 'attn.c_attn': 'attn_qkv', 'attn.c_proj': 'attn_output',
           'mlp.c_fc': 'ffn_up', 'mlp.c_proj': 'ffn_down'}


def tensors(path):
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], 'little')
    for name, of in json.loads(data[8:start]).items():
        if name != '__metadata__':
            begin, end = of['data_offsets']
            values = numpy.frombuffer(data[start + begin:start + end], numpy.float16)
            yield name, values.reshape(of['shape'])


def renamed(name):
    module, kind = name.rsplit('.', 1)
    prefix = ''
    if module.startswith('h.'):
        _, layer, module = module.split('.', 2)
        prefix = 'blk.%s.' % layer
    return '%s%s.%s' % (prefix, TENSORS[module], kind)


def add_tensor(writer, name, values, vocab):
    if values.ndim == 1:
        values = values.astype(numpy.float32)
    elif '.c_' in name:
        values = values.T
    if name == 'wte.weight' and vocab:
        values = numpy.resize(values, (vocab, values.shape[1]))
        noise = numpy.random.default_rng(1).normal(0, 0.2 * values.std(dtype=numpy.float32), values.shape)
        values = (values + noise).astype(numpy.float16)
    writer.add_tensor(renamed(name), numpy.ascontiguousarray(values))


def add_tokenizer(writer, folder):
    ids = json.loads((folder / 'vocab.json').read_text())
    tokens = sorted(ids, key=ids.get)
    assert [ids[token] for token in tokens] == list(range(len(tokens)))
    end = ids['<|endoftext|>']
    kinds = [gguf.TokenType.NORMAL] * len(tokens)
    kinds[end] = gguf.TokenType.CONTROL
    writer.add_tokenizer_model('gpt2')
    writer.add_tokenizer_pre('gpt-2')
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges((folder / 'merges.txt').read_text().splitlines()[1:])
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)


def main():
    folder, output = pathlib.Path(sys.argv[1]), sys.argv[2]
    vocab = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    config = json.loads((folder / 'config.json').read_text())
    writer = gguf.GGUFWriter(output, 'gpt2')
    writer.add_block_count(config['n_layer'])
    writer.add_context_length(config['n_ctx'])
    writer.add_embedding_length(config['n_embd'])
    writer.add_feed_forward_length(config['n_inner'] or 4 * config['n_embd'])
    writer.add_head_count(config['n_head'])
    writer.add_layer_norm_eps(config['layer_norm_epsilon'])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    if vocab:
        writer.add_tokenizer_model('none')
        writer.add_vocab_size(vocab)
    else:
        add_tokenizer(writer, folder)
    for name, values in tensors(folder / 'model.safetensors'):
        add_tensor(writer, name, values, vocab)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
