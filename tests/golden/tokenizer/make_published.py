"""Makes published_goldens.json: what the reference libraries give for published vocabularies (tests/assets), and
llama_cpp_vectors.json: the test strings and ids that the llama-cpp-python 0.3.36 sdist (MIT) carries for five of them.

Run from the repository root after tests/assets/fetch.sh --all:
  python tests/golden/tokenizer/make_published.py    (tiktoken==0.14.0 sentencepiece==0.2.3 tokenizers==0.23.3)
No vocabulary is written, only ids.
"""
import base64
import json
import os
import pathlib
import re

import sentencepiece
import tiktoken
import tokenizers
from tiktoken_ext import openai_public as public

HERE = pathlib.Path(__file__).parent
ASSETS = pathlib.Path(os.environ.get("PRIMUS_ASSETS") or pathlib.Path.home() / ".cache/primus/assets")
TEXTS = json.loads((HERE / "small_goldens.json").read_text())["texts"]
TEXTS += [" ".join(TEXTS[4:8]) + "\n" + "\n\n".join(TEXTS[8:16]), "<|endoftext|>a<|end_of_text|> <|im_start|>", "\u3042\u3044\u3046\u30a2\u30a4 \u4eac\u90fd\u306f\u96e8\u3002\uff76\uff9e\uff8a\u309a \u2460\u2479 \uff0c"]
L3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def ranks(path):
    return {base64.b64decode(a): int(b) for a, b in (line.split() for line in path.read_bytes().splitlines() if line)}


def tik(path, pattern, special):
    return tiktoken.Encoding(name=path, pat_str=pattern, mergeable_ranks=ranks(ASSETS / path), special_tokens=special)


o200k = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
cl100k = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
end = "<|endoftext|>"
rows = {}


def add(path, encode, decode):
    ids = [encode(t) for t in TEXTS]
    rows[path] = [{"ids": i, **({} if decode(i) == t else {"decoded": decode(i)})} for t, i in zip(TEXTS, ids)]
    print(path, *(" ".join(map(str, ids[k])) for k in (4, 5, 6)), sep="\n   ")


import unicodedata
for path, pattern, special, form in [
    ("llama3/tokenizer.model", L3, {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001}, None),
    ("llama4/tokenizer.model", o200k, {"<|begin_of_text|>": 200000, "<|end_of_text|>": 200001}, None),
    ("qwen/qwen.tiktoken", L3.replace("{1,3}", ""), {end: 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}, "NFC"),
    ("tiktoken/cl100k_base.tiktoken", cl100k, {end: 100257}, None),
    ("tiktoken/o200k_base.tiktoken", o200k, {end: 199999}, None),
    ("whisper/gpt2.tiktoken", public.r50k_pat_str, {end: 50256}, None),
    ("tiktoken/p50k_base.tiktoken", public.r50k_pat_str, {end: 50256}, None),
]:
    enc = tik(path, pattern, special)
    add(path, lambda t: enc.encode(unicodedata.normalize(form, t) if form else t, allowed_special="all"), enc.decode)
for name in ("tekken_240718", "tekken_240911"):
    data = json.loads((ASSETS / f"mistral/{name}.json").read_text())
    c = data["config"]
    n = c["default_num_special_tokens"]
    table = {base64.b64decode(v["token_bytes"]): v["rank"] for v in data["vocab"] if v["rank"] < c["default_vocab_size"] - n}
    enc = tiktoken.Encoding(name=name, pat_str=c["pattern"], mergeable_ranks=table, special_tokens={})
    add(f"mistral/{name}.json", lambda t: [i + n for i in enc.encode(t, disallowed_special=())], lambda ids: enc.decode([i - n for i in ids]))
gpt2 = tokenizers.ByteLevelBPETokenizer(str(ASSETS / "gpt2/encoder.json"), str(ASSETS / "gpt2/vocab.bpe"))
gpt2.add_special_tokens([end])
add("gpt2", lambda t: gpt2.encode(t).ids, lambda ids: gpt2.decode(ids, skip_special_tokens=False))
for path in ("deepseek/tokenizer.json", "litellm/anthropic_tokenizer.json"):
    tok = tokenizers.Tokenizer.from_file(str(ASSETS / path))
    add(path, lambda t: tok.encode(t, add_special_tokens=False).ids, lambda ids: tok.decode(ids, skip_special_tokens=False))
for path in ("mistral/tokenizer.model.v1", "mistral/tokenizer.model.v2", "mistral/tokenizer.model.v3", "mistral/tokenizer.model.v7",
             "sentencepiece/botchan_en_bpe_1000.model", "sentencepiece/botchan_en_unigram_1000.model", "sentencepiece/kyoto_ja_unigram_8000.model"):
    spm = sentencepiece.SentencePieceProcessor(model_file=str(ASSETS / path))
    add(path, spm.encode, spm.decode)

body = ",\n".join(json.dumps(k) + ": [\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in v) + "]" for k, v in rows.items())
(HERE / "published_goldens.json").write_text('{"libraries": "tiktoken 0.14.0, sentencepiece 0.2.3, tokenizers 0.23.3",\n"texts": ' + json.dumps(TEXTS) + ',\n"files": {\n' + body + "\n}}\n")

vectors = {}
for name in ("llama-bpe", "qwen2", "gpt-2", "starcoder", "llama-spm"):
    base = ASSETS / f"llama_cpp/ggml-vocab-{name}.gguf"
    texts = re.split(r"\n__ggml_vocab_test__\n", open(str(base) + ".inp", newline="", encoding="utf-8").read())
    ids = [[int(x) for x in line.split()] for line in open(str(base) + ".out").read().split("\n")[: len(texts)]]
    texts, ids = texts[:-1] if texts[-1] == "" and len(texts) == 47 else texts, ids
    assert len(texts) == 46, len(texts)
    vectors["texts"] = texts
    vectors[name] = ids[:46]
(HERE / "llama_cpp_vectors.json").write_text('{"source": "llama-cpp-python 0.3.36 sdist (MIT), vendor/llama.cpp/models",\n' + ",\n".join(json.dumps(k) + ": " + json.dumps(v, separators=(",", ":")) for k, v in vectors.items()) + "\n}\n")
