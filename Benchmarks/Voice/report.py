#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/voice-quality.md, between its marks, from the results of calls in real time (batch.py) and
in virtual time (sim.py --out).
  report.py [--results FILE] [--sim FILE] [--bounds FILE] --out docs/voice-quality.md"""
import argparse, collections, json, os
MAIN = ["clean", "loss1", "loss3", "loss5", "loss10", "loss20", "burst5", "jit30", "jit60", "jit40loss5", "jit30f", "spike200", "gap300"]
BOUND = {"opus": "opus", "opus-red": "opus-red", "PCMU": "PCMU"}

def mean(values): return sum(values) / len(values) if values else None

def table(title, rows, cell):
    lines = [f"**{title}**", "", "| | " + " | ".join(MAIN) + " |", "|---" * (len(MAIN) + 1) + "|"]
    for row in rows: lines.append(f"| {row} | " + " | ".join(cell(row, c) for c in MAIN) + " |")
    return lines + [""]

def tables(path, bounds, what):
    cells = collections.defaultdict(dict)
    try: lines = open(path).read().splitlines()
    except OSError: return [f"No results of {what} yet.", ""]
    for r in map(json.loads, lines):
        if "error" in r: continue
        codec = r["codec"] + ("-red" if r["peer"].endswith("-red") else "")
        kept = cells[f"{r['peer']} {r['codec']}", r["condition"], codec].get(r["seed"])
        if kept is None or (r.get("tx_jitter_ms") or 99) < (kept.get("tx_jitter_ms") or 99):
            cells[f"{r['peer']} {r['codec']}", r["condition"], codec][r["seed"]] = r
    names = sorted({(k[0], k[2]) for k in cells}, key=lambda n: (not n[0].startswith(("handset", "sim")), n[1] != "opus", n[0]))
    codec = dict(names)
    def of(row, cond, key): return [r[key] for r in cells.get((row, cond, codec[row]), {}).values() if r.get(key) is not None]
    def number(values, form): return form % mean(values) if values else "–"
    rows = [n[0] for n in names]
    out = table(f"PESQ, {what} (wide band for Opus and G.722, narrow band for PCMU)", rows, lambda r, c: number(of(r, c, "pesq"), "%.2f"))
    def least(row, cond):
        bound = bounds.get(BOUND.get(codec[row]), {}).get(cond, {})
        diffs = [v["pesq"] - bound[str(s)] for s, v in cells.get((row, cond, codec[row]), {}).items() if str(s) in bound]
        return "%+.2f" % min(diffs) if diffs else "–"
    out += table("The seed that is farthest below its own offline bound", [r for r in rows if codec[r] in BOUND], least)
    out += table("Mouth to ear, ms (median; the network's own delay and a packet time are in it)", rows, lambda r, c: number(of(r, c, "m2e_ms"), "%.0f"))
    return out

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--results", default=os.environ.get("QBENCH_OUT", ".build/voice/out") + "/results.jsonl")
    ap.add_argument("--sim", default=".build/voice/sim.jsonl"); ap.add_argument("--bounds"); ap.add_argument("--out", required=True)
    a = ap.parse_args()
    bounds = json.load(open(a.bounds)) if a.bounds and os.path.exists(a.bounds) else {}
    lines = tables(a.results, bounds, "real time") + tables(a.sim, bounds, "virtual time")
    if bounds:
        rows = {"Opus 32k, in-band FEC": "opus", "Opus 24k, two copies": "opus-red", "G.711, spandsp's concealment": "PCMU"}
        lines += table("Offline bounds: the same losses, no jitter buffer, perfect timing", rows,
                       lambda r, c: "%.2f" % mean(list(bounds[rows[r]][c].values())) if c in bounds.get(rows[r], {}) else "–")
    text = open(a.out).read()
    before, rest = text.split("<!-- tables -->\n", 1)
    _, after = rest.split("<!-- end of tables -->", 1)
    open(a.out, "w").write(before + "<!-- tables -->\n" + "\n".join(lines) + "<!-- end of tables -->" + after)

if __name__ == "__main__":
    main()
