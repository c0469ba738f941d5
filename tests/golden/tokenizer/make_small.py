"""Makes small/*.json (tokenizers trained here on the shipped public-domain text) and small_goldens.json: what the
tokenizers library 0.23.3 gives for each of them on every text below.

Run from the repository root:  python tests/golden/tokenizer/make_small.py      (needs tokenizers==0.23.3)
"""
import gzip
import json
import pathlib

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import AddedToken

HERE = pathlib.Path(__file__).parent
TEXT = gzip.open(HERE.parents[2] / "data/tinyshakespeare.txt.gz", "rt").read()[:200_000]
EXTRA = ["na\u00efve caf\u00e9 \u00bd 12345 \u4f60\u597d \u4e16\u754c \ud55c\uad6d\uc5b4 \u0440\u0443\u0441\u0441\u043a\u0438\u0439 don't I'LL 3.14 def f(x): return x\n\n\n"] * 20

TEXTS = [
    "", " ", "\n", "a", "Hello, world! \u4f60\u597d \U0001f642\n\n  def f(x):  return 1234567", "  leading spaces and\ttabs",
    "na\u00efve caf\u00e9 \u2014 \u00bd \U0001f926\U0001f3fd\u200d\u2640\ufe0f", "First Citizen:\nBefore we proceed any further, hear me speak.",
    "it's I'LL we've you'Re 'S '\u017f d'oh 'tis ''ve", "trailing   ", "   \n \n\n  x", "a\r\nb\r\n\r\n", "x\u00a0y\u3000z\u180e\u2028w", "\u200b\u200d\ufeff",
    "1", "12", "123", "1234567890", "\u0661\u0662\u0663 \u00b2\u00b3 \u216b \u00bc\u00bd\u4e00", "3.14159e-10 0xDEADbeef 1,000,000",
    "e\u0301 \u00e9 \u1e9b\u0323 \ufb01 \u212b \uff21\uff22\uff23 \u3392", "\u1112\u1161\u11ab \ud55c", "\u0130stanbul \u1e9e \u03a3\u03a3",
    "CamelCaseWordsAndSNAKE_CASE mixedUP iPhoneX HTTPServer \u01c5 \u02b0\u0300", "\u0905\u0928\u0941\u091a\u094d\u091b\u0947\u0926 \u0e17\u0e14\u0e2a\u0e2d\u0e1a \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea",
    "!!! ... ?!?! ---- ==== //// ~~~\n\n/* x */ #include <a/b>\n/", "https://example.org/a?b=c&d=e#f user@host.tld", "<s>tables", "x<s>tables", "<s> tables </s> x",
    "a<SEP>b <mid> c <MID> d", "the<|endoftext|>end <|endoftext|> again<|endoftext|>", "pad [PAD]  [PAD]x[PAD] ", "word wordy word, wording word", "\u2581under\u2581score \u2581 \u2581\u2581",
    "antidisestablishmentarianismfloccinaucinihilipilificationpneumonoultramicroscopicsilicovolcanoconiosis",
    "abababababababababababababababababababababababababababababababababababababababababababababababab",
    "\U00010348\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \U000e0001", "tab\tsep\t\tdouble", "a  b   c    d     e", " the", "the", "\n\n\n\nthe", "zzq abe \u00e9", " <0x41> <0x0A>", "\x00\x01\x7f",
]

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
L3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
Q2 = L3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
CJK = r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+".encode().decode("unicode_escape")
DS3 = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
EOT = AddedToken("<|endoftext|>", special=True, normalized=False)
Split, ByteLevel, Seq = pre_tokenizers.Split, pre_tokenizers.ByteLevel, pre_tokenizers.Sequence


def byte_level(pre, size=420, normalizer=None, special=(EOT,), **model):
    tok = Tokenizer(models.BPE(**model))
    tok.normalizer = normalizer
    tok.pre_tokenizer = pre
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator([TEXT] + EXTRA, trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=list(special),
                                                               initial_alphabet=ByteLevel.alphabet()))
    return tok


def character(pre, size=520, normalizer=None, fallback=True, edit=None):
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=False))
    tok.normalizer = normalizer
    tok.pre_tokenizer = pre or pre_tokenizers.Metaspace(prepend_scheme="never")
    tok.train_from_iterator([TEXT.replace("\n", " ")], trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=["<unk>", "<s>", "</s>"]))
    data = json.loads(tok.to_str())
    if fallback:
        vocab = data["model"]["vocab"]
        for b in range(256):
            vocab[f"<0x{b:02X}>"] = len(vocab)
        data["model"]["byte_fallback"] = True
    if pre is None:
        data["pre_tokenizer"] = None
    if edit:
        edit(data)
    return Tokenizer.from_str(json.dumps(data))


LLAMA_DECODER = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
BOS_TEMPLATE = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
out = {}

out["gpt2"] = byte_level(ByteLevel(add_prefix_space=False))
out["prefix_space"] = byte_level(ByteLevel(add_prefix_space=True))
out["no_regex"] = byte_level(ByteLevel(add_prefix_space=False, use_regex=True))
data = json.loads(out["no_regex"].to_str()); data["pre_tokenizer"]["use_regex"] = False
out["no_regex"] = Tokenizer.from_str(json.dumps(data))

for name, flag in (("llama3", True), ("llama3_merging", False)):
    tok = byte_level(Seq([Split(Regex(L3), "isolated", False), ByteLevel(add_prefix_space=False, use_regex=False)]))
    data = json.loads(tok.to_str())
    data["model"]["ignore_merges"] = flag
    for word in ("\u0120ab\u00c3\u00a9", "\u0120again", "abe", "\u4f60"):  # whole words that no merge reaches
        data["model"]["vocab"].setdefault(word, len(data["model"]["vocab"]))
    tok = Tokenizer.from_str(json.dumps(data))
    tok.add_special_tokens([AddedToken("<s>", normalized=False), AddedToken("</s>", normalized=False)])
    tok.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                              processors.TemplateProcessing(single="<s>:0 $A:0 </s>:0", special_tokens=[("<s>", tok.token_to_id("<s>")), ("</s>", tok.token_to_id("</s>"))])])
    out[name] = tok
out["qwen2"] = byte_level(Seq([Split(Regex(Q2), "isolated", False), ByteLevel(add_prefix_space=False, use_regex=False)]), normalizer=normalizers.NFC())
out["o200k"] = byte_level(Seq([Split(Regex(O200K), "isolated", False), ByteLevel(add_prefix_space=False, use_regex=False)]))
out["o200k_removed_inverted"] = byte_level(Seq([Split(Regex(O200K), "removed", True), ByteLevel(add_prefix_space=False, use_regex=False)]))
out["deepseek"] = byte_level(Seq([Split(Regex(r"\p{N}{1,3}"), "isolated"), Split(Regex(CJK), "isolated"), Split(Regex(DS3), "isolated"),
                                  ByteLevel(add_prefix_space=False, use_regex=False)]))
out["starcoder"] = byte_level(Seq([pre_tokenizers.Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]))
out["digits_contiguous"] = byte_level(Seq([pre_tokenizers.Digits(individual_digits=False), ByteLevel(add_prefix_space=True, use_regex=True)]))
out["punctuation"] = byte_level(Seq([pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.WhitespaceSplit(), ByteLevel(add_prefix_space=True, use_regex=False)]))
out["whitespace"] = byte_level(Seq([pre_tokenizers.Whitespace(), ByteLevel(add_prefix_space=False, use_regex=False)]))
for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
    out[f"split_{behavior}"] = byte_level(Seq([Split(Regex(r"[aeiou\s]"), behavior), Split("t", behavior), ByteLevel(add_prefix_space=False, use_regex=False)]), size=330)
    out[f"split_{behavior}_inverted"] = byte_level(Seq([Split(Regex(r"[aeiou ]+|\d"), behavior, True), Split(".", behavior, True), ByteLevel(add_prefix_space=False, use_regex=False)]), size=330)

prepend = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
out["llama2"] = character(None, normalizer=prepend)
for scheme in ("first", "always", "never"):
    out[f"metaspace_{scheme}"] = character(pre_tokenizers.Metaspace(prepend_scheme=scheme, split=scheme != "always"))
out["gemma"] = character(Split(" ", "merged_with_previous"), normalizer=normalizers.Replace(" ", "\u2581"))
for name in ("llama2", "metaspace_first", "metaspace_always", "metaspace_never", "gemma"):
    out[name].decoder = LLAMA_DECODER
    out[name].post_processor = BOS_TEMPLATE
out["metaspace_decoder"] = character(pre_tokenizers.Metaspace(prepend_scheme="always"), fallback=False)
out["metaspace_decoder"].decoder = decoders.Metaspace(prepend_scheme="always")
out["unk_fused"] = character(pre_tokenizers.Metaspace(prepend_scheme="first"), fallback=False)
out["unk_each"] = character(pre_tokenizers.Metaspace(prepend_scheme="first"), fallback=False, edit=lambda d: d["model"].update(fuse_unk=False))
out["unk_dropped"] = character(pre_tokenizers.Metaspace(prepend_scheme="first"), fallback=False, edit=lambda d: d["model"].update(unk_token=None))
out["no_decoder"] = character(pre_tokenizers.Metaspace(prepend_scheme="never"), fallback=False)
out["nfkc_lower"] = byte_level(ByteLevel(add_prefix_space=False), normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip(True, True)]))
out["nfd_replace"] = byte_level(ByteLevel(add_prefix_space=False), normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.Replace(Regex(r"\p{M}|\d+"), "#"), normalizers.Replace("the", "THE")]))
out["nfkd_strip"] = byte_level(ByteLevel(add_prefix_space=False), normalizer=normalizers.Sequence([normalizers.Strip(True, False), normalizers.NFKD()]))

for name, norm in (("added", normalizers.Lowercase()), ("added_prepend", prepend)):
    tok = byte_level(ByteLevel(add_prefix_space=False), normalizer=norm) if name == "added" else character(None, normalizer=norm)
    tok.add_tokens([AddedToken("<SEP>", normalized=False), AddedToken("<Mid>", normalized=True), AddedToken("word", single_word=True, normalized=False),
                    AddedToken("[PAD]", lstrip=True, rstrip=True, normalized=False), AddedToken("ab", normalized=True), AddedToken("abab", normalized=True),
                    AddedToken("\u597d", normalized=False, rstrip=True), AddedToken("\n", normalized=False, lstrip=True)])
    out[name] = tok
# What the library's own trainer makes of a text that our trainer gets too (train_golden_test.cpp).
train_text = TEXT[:40_000] + "".join(EXTRA[:3])
(HERE / "train_text.txt").write_text(train_text, encoding="utf-8")
tok = Tokenizer(models.BPE())
tok.pre_tokenizer = ByteLevel(add_prefix_space=False)
tok.decoder = decoders.ByteLevel()
tok.train_from_iterator([train_text], trainers.BpeTrainer(vocab_size=1000, show_progress=False, special_tokens=[EOT], initial_alphabet=ByteLevel.alphabet()))
out["trained"] = tok
old = json.loads(out["gpt2"].to_str())
old["model"]["merges"] = [" ".join(m) for m in old["model"]["merges"]]
goldens = {"library": "tokenizers 0.23.3", "texts": TEXTS, "files": {}}
for name, tok in sorted(out.items()):
    text = json.dumps(json.loads(tok.to_str()), ensure_ascii=False, separators=(",", ":"))
    (HERE / "small" / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    again = Tokenizer.from_str(text)
    rows = []
    for t in TEXTS:
        plain = again.encode(t, add_special_tokens=False).ids
        full = again.encode(t).ids
        again.encode_special_tokens = True
        literal = again.encode(t, add_special_tokens=False).ids
        again.encode_special_tokens = False
        rows.append({"ids": plain, **({"as_file": full} if full != plain else {}), **({"literal": literal} if literal != plain else {}),
                     "decoded": again.decode(plain, skip_special_tokens=False)})
    goldens["files"][name] = rows
(HERE / "small" / "gpt2_old_merges.json").write_text(json.dumps(old, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
goldens["files"]["gpt2_old_merges"] = goldens["files"]["gpt2"]
lines = ",\n".join(json.dumps(k) + ": [\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in v) + "]" for k, v in goldens["files"].items())
(HERE / "small_goldens.json").write_text('{"library": "tokenizers 0.23.3",\n"texts": ' + json.dumps(TEXTS) + ',\n"files": {\n' + lines + "\n}}\n")
print(len(out) + 1, "tokenizers,", len(TEXTS), "texts")
