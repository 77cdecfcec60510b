"""How many windows of 256 word pieces a GPU embeds in a second: python benchmarks/capacity_gpu.py

Needs PyTorch and a GPU, nothing else of this project. The network has all-MiniLM-L6-v2's shape and
random weights, in half precision: the work is the same. Word pieces are given, not made from text.
The figure goes into benchmarks/data/capacity.json by hand.
"""

from __future__ import annotations

import time
from statistics import median

import torch  # type: ignore[import-not-found]

VOCABULARY, WIDTH, LAYERS, HEADS, BETWEEN = 30_522, 384, 6, 12, 1536
LENGTH, BATCH, ROUNDS = 256, 2048, 5


def main() -> None:
    layer = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, BETWEEN, activation="gelu", batch_first=True, dropout=0.0
    )
    encoder = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    network = torch.nn.Sequential(torch.nn.Embedding(VOCABULARY, WIDTH), encoder)
    network = network.cuda().half().eval()
    pieces = torch.randint(0, VOCABULARY, (BATCH, LENGTH))

    def embed() -> None:
        torch.nn.functional.normalize(network(pieces.cuda()).mean(1), dim=1).cpu()

    rates = []
    with torch.inference_mode():
        for _ in range(ROUNDS):
            embed()
            started, done = time.perf_counter(), 0
            while time.perf_counter() - started < 1:
                embed()
                done += BATCH
            rates.append(done / (time.perf_counter() - started))
    print(f"{torch.cuda.get_device_name()}: {median(rates):.0f} windows of {LENGTH} a second")


if __name__ == "__main__":
    main()
