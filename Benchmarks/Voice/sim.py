#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The calls of the bench in virtual time: the same speech, the same seeded networks, the engine without sockets and clocks.

  sim.py [--jobs opus,g722,pcmu] [--conditions main] [--seeds 1,2,3] [--ref call] [--workers 2] [--fast]
         [--out FILE] [--against FILE] [--options '--bitrate 24']

VOICESIM names the program (scripts/bench-voice-sim builds it). --fast leaves out STOI and PLCMOS. --keep leaves the
recordings in QBENCH_OUT/sim. --bounds FILE compares each seed with the offline bounds that bounds.py wrote."""
import argparse, collections, json, os, shutil, subprocess, sys, time
from multiprocessing import Pool
HERE = os.path.dirname(os.path.abspath(__file__)); sys.path.insert(0, HERE)
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"): os.environ.setdefault(name, "1")
from conditions import CONDITIONS, MAIN
REFS = os.environ.get("QBENCH_REFS", HERE + "/refs")
OUT = os.environ.get("QBENCH_OUT", HERE + "/out") + "/sim"
RATE = {"PCMU": 8, "PCMA": 8, "G722": 16, "opus": 48}

def plan(cond, seed, count):
    """the ways of the packets through the network, as relay.py would decide them, packets being sent every 20 ms"""
    from relay import Impair
    impair = Impair({k: v for k, v in cond.items() if k != "ref"}, seed)
    return [impair.decide(i * 0.02, i) for i in range(count)]

def call(job):
    codec, name, seed, a = job
    import score
    cond = dict(CONDITIONS[name])
    ref = a.ref or cond.get("ref", "call")
    work = f"{OUT}/{a.tag}{codec}_{name}_{seed}_{ref}"
    shutil.rmtree(work, ignore_errors=True); os.makedirs(work)
    seconds = json.load(open(REFS + "/refs.json"))["files"][ref]["seconds"]
    with open(work + "/plan", "w") as f:
        for ways in plan(cond, seed, int(seconds * 50) + 200): f.write(" ".join(f"{d * 1000:.4f}" for d in ways) + "\n")
    argv = [os.environ["VOICESIM"], codec, f"{REFS}/{ref}_{RATE[codec]}k.wav", work + "/plan", work,
            "--phase-seed", str(seed * 31 + a.phase), "--base", str(round(cond.get("base", 0.02) * 1000)), *a.options.split()]
    t = time.time()
    r = subprocess.run(argv, capture_output=True, text=True)
    if r.returncode: return {"codec": codec, "condition": name, "seed": seed, "error": r.stderr[-300:]}
    t1 = time.time()
    try: result = score.main(work, codec, ref, fast=a.fast)
    except Exception as e: result = {"error": repr(e)}
    figures = json.load(open(work + "/figures.json"))
    if not a.keep: shutil.rmtree(work)
    return {"peer": "sim", "codec": codec, "condition": name, "seed": seed, **result, "figures": figures,
            "sim_s": round(t1 - t, 2), "score_s": round(time.time() - t1, 2)}

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--jobs", default="opus,G722,PCMU"); ap.add_argument("--conditions", default="main")
    ap.add_argument("--seeds", default="1,2,3"); ap.add_argument("--ref"); ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--fast", action="store_true"); ap.add_argument("--keep", action="store_true"); ap.add_argument("--tag", default="")
    ap.add_argument("--out"); ap.add_argument("--against"); ap.add_argument("--bounds"); ap.add_argument("--options", default="")
    ap.add_argument("--phase", type=int, default=0)
    a = ap.parse_args()
    names = {"pcmu": "PCMU", "pcma": "PCMA", "g722": "G722", "opus": "opus"}
    codecs = [names[c.lower()] for c in a.jobs.split(",")]
    conds = MAIN if a.conditions == "main" else a.conditions.split(",")
    seeds = [int(s) for s in a.seeds.split(",")]
    os.makedirs(OUT, exist_ok=True)
    jobs = [(c, n, s, a) for c in codecs for n in conds for s in (seeds if n != "clean" else seeds[:1])]
    start = time.time()
    with Pool(a.workers) as pool: results = pool.map(call, jobs, chunksize=1)
    if a.out:
        with open(a.out, "w") as f:
            for r in results: f.write(json.dumps(r) + "\n")
    show(results, codecs, conds, load(a.against), load_bounds(a.bounds))
    print(f"{len(results)} calls in {time.time() - start:.0f} s")

def load(path):
    if not path: return {}
    return {(r["codec"], r["condition"], r["seed"]): r for r in map(json.loads, open(path))}

def load_bounds(path):
    return json.load(open(path)) if path else {}

def show(results, codecs, conds, before, bounds):
    import numpy as np
    for codec in codecs:
        print(f"\n{codec:12s} pesq  (each)               before  bound-miss  m2e first/median/p95/last  gaps  late conc recov")
        for cond in conds:
            rs = [r for r in results if r["codec"] == codec and r["condition"] == cond]
            for r in rs:
                if "error" in r: print(cond, r["seed"], r["error"][-200:])
            rs = [r for r in rs if "error" not in r]
            if not rs: continue
            mean = lambda k: float(np.mean([r[k] for r in rs if r.get(k) is not None] or [0]))
            old = [before[k]["pesq"] for k in ((codec, cond, r["seed"]) for r in rs) if k in before]
            miss = [r["pesq"] - bounds[codec][cond][str(r["seed"])] for r in rs
                    if str(r["seed"]) in bounds.get(codec, {}).get(cond, {})]
            fig = lambda k: round(float(np.mean([r["figures"][k] for r in rs])))
            print(f"{cond:12s} {mean('pesq'):.2f}  {' '.join('%.2f' % r['pesq'] for r in rs):20s}"
                  f"  {'%.2f' % np.mean(old) if old else '    '}   {'%+.2f' % min(miss) if miss else '     '}"
                  f"     {mean('m2e_first'):4.0f} {mean('m2e_ms'):4.0f} {mean('m2e_p95'):4.0f} {mean('m2e_last'):4.0f}"
                  f"   {mean('gap_pct'):4.1f}  {fig('late'):4d} {fig('concealed'):4d} {fig('recovered'):4d}")

if __name__ == "__main__":
    main()
