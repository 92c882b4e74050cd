#!/usr/bin/env python3
"""score.py WORKDIR CODEC REF [--json] : score one recorded call.

pesq      mean MOS-LQO over the passages: P.862.1 narrowband for PCMU, P.862.2 wideband otherwise
plcmos    PLCMOS v2 (Microsoft, no-reference, made for packet loss concealment), mean over passages
stoi      mean
m2e_ms    mouth-to-ear: capture of a sample (one packet time before its packet reached the relay)
          to the same sample written by the receiver; includes base network delay, jitter buffer, decoder
jb_ms     m2e minus packet time minus the condition's mean network delay: what the receiver adds
gap_pct   share of active-speech 20 ms frames that the receiver left silent (>25 dB below the reference)
"""
import json, os, sys, struct
import numpy as np, soundfile as sf
from scipy.signal import resample_poly, fftconvolve
REFS = os.environ.get("QBENCH_REFS", os.path.join(os.path.dirname(os.path.abspath(__file__)), "refs"))
FS = 16000

def load_wav(path):
    b = open(path, "rb").read()
    pos, fs, ch, bits, tag = 12, 8000, 1, 16, 1
    data = 44
    while pos + 8 <= len(b):
        cid, n = b[pos:pos + 4], struct.unpack("<I", b[pos + 4:pos + 8])[0]
        if cid == b"fmt ":
            tag, ch, fs, _, _, bits = struct.unpack("<HHIIHH", b[pos + 8:pos + 24])
        if cid == b"data":
            data = pos + 8; break
        pos += 8 + n + (n & 1)
    raw = b[data:]
    if bits == 16:
        x = np.frombuffer(raw[: len(raw) // (2 * ch) * 2 * ch], "<i2").astype(float) / 32768
    else:
        x = np.frombuffer(raw[: len(raw) // (4 * ch) * 4 * ch], "<f4").astype(float)
    if ch > 1: x = x.reshape(-1, ch).mean(1)
    return x, fs, data, ch * bits // 8

def to(x, a, b):
    if a == b: return x
    g = np.gcd(a, b)
    return resample_poly(x, b // g, a // g)

ULAW = None
def ulaw(b):
    global ULAW
    if ULAW is None:
        u = ~np.arange(256, dtype=np.uint8)
        s, e, m = u >> 7, (u >> 4) & 7, u & 15
        v = ((m.astype(int) << 3) + 0x84 << e.astype(int)) - 0x84
        ULAW = np.where(s == 1, -v, v) / 32768.0
    return ULAW[np.frombuffer(b, np.uint8)]

def sent_stream(rtp, codec):
    """decode what left the sender -> 16 kHz signal on its RTP timeline, and when position 0 was captured"""
    clk = 48000 if codec == "opus" else 8000
    pts = {}
    for r in rtp:
        pt = r[3] & 127
        pts[pt] = pts.get(pt, 0) + 1
    pt = max(pts, key=pts.get)
    pk = [r for r in rtp if (r[3] & 127) == pt]
    ts0 = pk[0][2]
    if codec == "opus":
        import opuslib
        dec = opuslib.Decoder(FS, 1)
    elif codec == "G722":
        from G722 import G722
        dec = G722(16000, 64000)
    out, pos, t, dur = [], [], [], []
    size = 0
    for r in pk:
        pay = bytes.fromhex(r[5])
        hl = 12 + 4 * (pay[0] & 15)
        if pay[0] & 0x10: hl += 4 + 4 * struct.unpack("!H", pay[hl + 2:hl + 4])[0]
        pay = pay[hl:]
        size += len(pay)
        if codec == "opus":
            y = np.frombuffer(dec.decode(pay, 5760), "<i2").astype(float) / 32768
        elif codec == "G722":
            y = np.asarray(dec.decode(pay), float) / 32768
        else:
            y = np.repeat(ulaw(pay), 1)
        p = ((r[2] - ts0) & 0xffffffff)
        if p > 2 ** 31: continue
        out.append(y); pos.append(p / clk); t.append(r[0]); dur.append(len(y) / (8000 if codec == "PCMU" else FS))
    pos, t = np.array(pos), np.array(t)
    rate = 8000 if codec == "PCMU" else FS
    x = np.zeros(int((pos[-1] + 1) * rate))
    for p, y in zip(pos, out):
        i = int(round(p * rate)); x[i:i + len(y)] = y[: len(x) - i]
    x = to(x, rate, FS)
    off = t - pos
    ptime = float(np.median(dur))
    base = float(np.median(off))
    span = pos[-1] + dur[-1]
    return x, base - ptime, ptime, float(np.percentile(off, 99) - np.percentile(off, 1)) * 1000, size * 8 / span / 1000, len(pk)

def xfind(sig, s, lo, hi):
    """best lag of s in sig[lo:hi+len(s)]; returns (position, normalised peak)"""
    lo = max(0, int(lo)); hi = min(len(sig), int(hi) + len(s))
    w = sig[lo:hi]
    if len(w) < len(s): w = np.pad(w, (0, len(s) - len(w) + 1))
    c = fftconvolve(w, s[::-1], "valid")
    e = np.concatenate([[0], np.cumsum(w ** 2)])
    e = np.sqrt(np.maximum(e[len(s):] - e[:-len(s)], 1e-9)) * np.sqrt((s ** 2).sum() + 1e-12)
    e = np.maximum(e, 0.05 * e.max())
    n = c / e[: len(c)]
    k = int(np.argmax(n))
    return lo + k, float(n[k])

def dewarp(x, s, p, lag=0.3):
    """x re-timed onto s: overlap-add of 0.4 s pieces, each taken where it fits best. Removes delay
    changes (buffer growth and shrinkage), keeps losses, gaps and concealment artefacts."""
    W, H = int(0.4 * FS), int(0.2 * FS)
    win = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(W) / W)
    y = np.zeros(len(s) + W); d = 0
    for i in range(-H, len(s), H):
        a = max(0, i)
        w = s[a:a + W]
        if len(w) > H and np.sqrt((w ** 2).mean()) > 10 ** (-45 / 20):
            k, c = xfind(x, w, p + a + d - lag * FS, p + a + d + lag * FS)
            k0, c0 = xfind(x, w, p + a + d - 8, p + a + d + 8)   # stay unless clearly better elsewhere
            if c > 0.4 and c > c0 + 0.05: d = k - (p + a)
            elif c0 > 0.4: d = k0 - (p + a)
        for j in (i,):
            b = p + i + d
            seg = x[max(0, b):max(0, b) + W] if b >= 0 else np.zeros(W)
            if len(seg) < W: seg = np.pad(seg, (0, W - len(seg)))
            o = max(0, i); cut = o - i
            y[o:i + W] += (seg * win)[cut:]
    return y[:len(s)]

def rescore(work, codec, ref):
    """PESQ after dewarp, from a kept rec.wav"""
    from pesq import pesq
    meta = json.load(open(REFS + "/refs.json"))["files"][ref]
    refx, _ = sf.read(f"{REFS}/{ref}_16k.wav")
    raw, fr, _, _ = load_wav(work + "/rec.wav"); x = to(raw, fr, FS)
    out, d = [], None
    for g in meta["layout"]:
        a, n = g["start"], g["len"]; s = refx[a:a + n]
        # anchor on the best-fitting 0.8 s of the passage, so that one jump does not spoil it
        if d is None: p, c = xfind(x, s, 0, 25 * FS); d = p - a
        p, c = xfind(x, s, a + d - FS, a + d + FS)
        if c > 0.3: d = p - a
        e0, c0 = xfind(x, s[:int(1.2 * FS)], a + d - 0.8 * FS, a + d + 0.8 * FS)
        p = e0 if c0 > 0.5 else a + d
        y = dewarp(x, s, p)
        try:
            out.append(pesq(8000, resample_poly(s, 1, 2), resample_poly(y, 1, 2), "nb") if codec == "PCMU" else pesq(FS, s, y, "wb"))
        except Exception: out.append(1.0)
    return {"pesq_dw": round(float(np.mean(out)), 3), "dw": [round(float(v), 2) for v in out]}

def main(work, codec, ref, fast=False):
    from pesq import pesq
    if not fast: from pystoi import stoi
    meta = json.load(open(REFS + "/refs.json"))["files"][ref]
    refx, _ = sf.read(f"{REFS}/{ref}_16k.wav")
    raw, fr, head, bpf = load_wav(work + "/rec.wav")
    res = {"rec_rate": fr, "rec_s": round(len(raw) / fr, 2)}
    if len(raw) < fr * 10: return {**res, "error": "recording too short"}
    x = to(raw, fr, FS)
    rtpj = json.load(open(work + "/rtp.json")); rtp = rtpj["rtp"]
    sent = None
    if rtp:
        sent, tcap0, ptime, txj, kbps, npk = sent_stream(rtp, codec)
        lost = sum(1 for r in rtp if not r[4])
        nd = [r[4][0] for r in rtp if r[4]]
        res.update(ptime_ms=round(ptime * 1000), tx_jitter_ms=round(txj, 1), kbps=round(kbps, 1), tx_packets=npk,
                   net_loss_pct=round(100 * lost / len(rtp), 2), net_delay_ms=round(1000 * float(np.mean(nd)), 1))
    trec0 = None
    if os.path.exists(work + "/growth.json"):
        ev = [e for e in json.load(open(work + "/growth.json")) if e[1] > head]
        ev = ev[len(ev) // 4:]
        if len(ev) > 8:
            trec0 = min(t - (n - head) / bpf / fr for t, n in ev)
    # global alignment
    L = meta["layout"]
    s0 = refx[L[0]["start"]: L[0]["start"] + L[0]["len"]]
    p0, c0 = xfind(x, s0, 0, 25 * FS)
    q = None
    if sent is not None: q, _ = xfind(sent, s0, 0, 25 * FS)
    d, dq = p0 - L[0]["start"], (q - L[0]["start"]) if q is not None else 0
    pes, sto, plc, track, gaps, act = [], [], [], [], 0, 0
    gains = []
    plcmos = None
    try:
        if not fast: from speechmos import plcmos
    except Exception:
        pass
    for g in L:
        a, n = g["start"], g["len"]
        s = refx[a:a + n]
        p, c = xfind(x, s, a + d - 0.8 * FS, a + d + 0.8 * FS)
        if c > 0.3: d = p - a
        else: p = a + d
        pad = int(0.3 * FS)
        rs = refx[a - pad: a + n + pad]
        ds = x[max(0, p - pad): p + n + pad]
        if len(ds) < len(rs): ds = np.pad(ds, (0, len(rs) - len(ds)))
        try:
            if codec == "PCMU":
                pes.append(pesq(8000, resample_poly(rs, 1, 2), resample_poly(ds, 1, 2), "nb"))
            else:
                pes.append(pesq(16000, rs, ds, "wb"))
        except Exception as e:
            pes.append(1.0)
        xs = x[max(0, p):p + n]
        if not fast: sto.append(float(stoi(s, np.pad(xs, (0, n - len(xs))), FS)))
        if plcmos is not None:
            try:
                plc.append(float(plcmos.run(np.clip(ds, -1, 1), sr=FS)["plcmos"]))
            except Exception as e:
                res["plcmos_error"] = str(e)[:100]
        # local delay track, 0.6 s windows
        W, H = int(0.6 * FS), int(0.3 * FS)
        thr = 10 ** (-38 / 20)
        for i in range(0, n - W, H):
            w = s[i:i + W]
            if np.sqrt((w ** 2).mean()) < thr: continue
            lp, lc = xfind(x, w, p + i - 0.25 * FS, p + i + 0.25 * FS)
            if sent is not None:
                sp, sc = xfind(sent, w, a + i + dq - 0.1 * FS, a + i + dq + 0.1 * FS)
            else: sp, sc = 0, 0
            if lc < 0.5: continue
            track.append(((a + i) / FS, lp, sp if sc > 0.5 else None, lp - (p + i)))
            gains.append(20 * np.log10((np.sqrt((x[lp:lp + W] ** 2).mean()) + 1e-9) / np.sqrt((w ** 2).mean())))
            for j in range(0, H, 320):
                rf = w[j:j + 320]
                re_ = 10 * np.log10((rf ** 2).mean() + 1e-12)
                if re_ < -40: continue
                act += 1
                xe = 10 * np.log10((x[lp + j:lp + j + 320] ** 2).mean() + 1e-12)
                if xe < re_ - 25: gaps += 1
    res.update(pesq=round(float(np.mean(pes)), 3), pesq_segs=[round(float(v), 2) for v in pes],
               stoi=round(float(np.mean(sto)), 3) if sto else None, gap_pct=round(100 * gaps / max(1, act), 2),
               gain_db=round(float(np.median(gains)), 1) if gains else None)
    if plc: res["plcmos"] = round(float(np.mean(plc)), 3)
    if trec0 is not None and sent is not None:
        m = np.array([(trec0 + lp / FS) - (tcap0 + sp / FS) for _, lp, sp, _ in track if sp is not None]) * 1000
        if len(m):
            res.update(m2e_ms=round(float(np.median(m)), 1), m2e_p95=round(float(np.percentile(m, 95)), 1),
                       m2e_first=round(float(np.median(m[:8])), 1), m2e_last=round(float(np.median(m[-8:])), 1),
                       jb_ms=round(float(np.median(m)) - ptime * 1000 - res["net_delay_ms"], 1))
    if "--track" in sys.argv:
        for t_, lp, sp, dd in track: print(round(t_, 2), dd, None if sp is None else round(((trec0 or 0) + lp / FS - tcap0 - sp / FS) * 1000, 1))
    return res

if __name__ == "__main__":
    if sys.argv[1] == "--serve":       # one job per line: WORK CODEC REF; answers one JSON line each
        for ln in sys.stdin:
            try: r = main(*ln.split())
            except Exception as e: r = {"error": repr(e)}
            print(json.dumps(r), flush=True)
    elif sys.argv[1] == "--dewarp":    # score.py --dewarp RESULTS.jsonl : adds pesq_dw for kept recordings
        out = os.environ.get("QBENCH_OUT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "out"))
        have = set()
        try: have = {json.loads(l)["tag"] for l in open(out + "/dewarp.jsonl")}
        except OSError: pass
        from conditions import CONDITIONS
        for ln in open(sys.argv[2]):
            r = json.loads(ln)
            tag = f"{r['peer']}_{r['codec']}_{r['condition']}_{r['seed']}"
            if "error" in r or tag in have or not os.path.exists(f"{out}/work/{tag}/rec.wav"): continue
            have.add(tag)
            v = {"tag": tag, **{k: r[k] for k in ("peer", "codec", "condition", "seed")},
                 **rescore(f"{out}/work/{tag}", r["codec"], CONDITIONS[r["condition"]].get("ref", "call"))}
            with open(out + "/dewarp.jsonl", "a") as f: f.write(json.dumps(v) + "\n")
    else:
        print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3])))
