#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The offline bounds of ideal.py for each seed, as JSON: {codec: {condition: {seed: PESQ}}}.
  bounds.py [--seeds 1,2,3] [--ref call] [--out FILE]"""
import argparse, json, os, sys
from multiprocessing import Pool
HERE = os.path.dirname(os.path.abspath(__file__)); sys.path.insert(0, HERE)
CONDITIONS = ["clean", "loss1", "loss3", "loss5", "loss10", "loss20", "burst5", "gap300"]

def bound(job):
    import numpy as np, soundfile as sf
    from pesq import pesq
    from scipy.signal import resample_poly
    import ideal
    codec, cond, seed, ref = job
    x, _ = sf.read(f"{ideal.REFS}/{ref}_16k.wav")
    layout = json.load(open(ideal.REFS + "/refs.json"))["files"][ref]["layout"]
    ok = ideal.plan(cond, seed, len(x) // 320 + 2)
    loss = max(1, int(round(100 * (1 - np.mean(ok))))) if cond != "clean" else 0
    if codec == "opus": y = ideal.opus_decode(ideal.opus_encode(x, 32, True, loss), ok, True)
    elif codec == "opus-red":
        y = ideal.opus_decode(ideal.opus_encode(x, 24, False, 0), [a or b or c for a, b, c in zip(ok, ok[1:] + [True], ok[2:] + [True] * 2)], False)
    else: y = resample_poly(ideal.g711(resample_poly(x, 1, 2), ok, "spandsp"), 2, 1)
    scores = []
    for g in layout:
        a, b = g["start"] - 4800, g["start"] + g["len"] + 4800
        r, d = x[a:b], y[a:b]
        if len(d) < len(r): d = np.pad(d, (0, len(r) - len(d)))
        scores.append(pesq(8000, resample_poly(r, 1, 2), resample_poly(d, 1, 2), "nb") if codec == "PCMU" else pesq(16000, r, d, "wb"))
    return codec, cond, seed, round(float(np.mean(scores)), 3)

if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seeds", default="1,2,3"); ap.add_argument("--ref", default="call"); ap.add_argument("--out")
    ap.add_argument("--workers", type=int, default=2)
    a = ap.parse_args()
    jobs = [(c, n, int(s), a.ref) for c in ("opus", "opus-red", "PCMU") for n in CONDITIONS for s in a.seeds.split(",")]
    table = {}
    with Pool(a.workers) as pool:
        for codec, cond, seed, value in pool.imap(bound, jobs): table.setdefault(codec, {}).setdefault(cond, {})[str(seed)] = value
    text = json.dumps(table, indent=1)
    if a.out: open(a.out, "w").write(text + "\n")
    else: print(text)
