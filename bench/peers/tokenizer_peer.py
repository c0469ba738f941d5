"""Speed of the Hugging Face tokenizers library on one thread, in the form that `primus tokenizer encode --bench` prints.

  python bench/peers/tokenizer_peer.py TOKENIZER TEXT_FILE        (needs tokenizers==0.23.3)

TOKENIZER: a tokenizer.json, a folder that holds one, or a folder with GPT-2's encoder.json and vocab.bpe.
"""
import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402  (reads the environment when imported)

PIECE_BYTES = 65536


def load(path):
    if os.path.exists(os.path.join(path, "encoder.json")):
        tokenizer = Tokenizer(models.BPE.from_file(os.path.join(path, "encoder.json"), os.path.join(path, "vocab.bpe")))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.add_special_tokens(["<|endoftext|>"])  # its spelling in a text is its id, as in ours
        return tokenizer
    return Tokenizer.from_file(os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path)


def main():
    tokenizer = load(sys.argv[1])
    data = open(sys.argv[2], "rb").read()
    pieces, at = [], 0
    while at < len(data):
        end = min(len(data), at + PIECE_BYTES)
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        pieces.append(data[at:end].decode("utf-8"))
        at = end
    tokens = sum(len(tokenizer.encode(p, add_special_tokens=False).ids) for p in pieces)
    best, total, rounds = 1e9, 0.0, 0
    while rounds < 3 or total < 2.0:
        start = time.perf_counter()
        for piece in pieces:
            tokenizer.encode(piece, add_special_tokens=False)
        seconds = time.perf_counter() - start
        best, total, rounds = min(best, seconds), total + seconds, rounds + 1
    print(json.dumps({"bytes": len(data), "tokens": tokens, "rounds": rounds, "best_mb_per_s": len(data) / best / 1e6,
                      "mean_mb_per_s": len(data) * rounds / total / 1e6, "best_mtokens_per_s": tokens / best / 1e6}))


if __name__ == "__main__":
    main()
