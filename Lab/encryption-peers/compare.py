"""Our encryption beside others:  compare.py PEER [--cases N] [--seed S] [--first N] [--reference PATH] [KIND]...

Plays random cases of each kind between our process and one of another implementation, each as either side. The seed
repeats all choices, but not the keys, which each side makes itself. KIND is olm, megolm, sas, …; PATH a Python module
that takes the other side's place: see reference.py."""

import argparse
import secrets
import sys
import time
from pathlib import Path
from random import Random

import ratchets
import values
from peer import Peer, log

HERE = Path(__file__).resolve().parent
KINDS = {"olm": ratchets.olm, "megolm": ratchets.megolm, "sas": values.sas, "backup": values.backup,
         "export": values.export, "attachment": values.attachment, "signed": values.signed,
         "recovery": values.recovery, "secrets": values.secrets, "qr": values.qr}


def play(kind, cases, seed, first, peers):
    """Whether all went as it must."""
    counts, start = {}, time.monotonic()
    for case in range(first, first + cases):
        random = Random(f"{seed} {kind} {case}")
        log.clear()
        for peer in peers:
            peer("forget")
        # Which of the two begins.
        pair = peers if case % 2 == 0 else peers[::-1]
        try:
            for what, count in KINDS[kind](random, *pair).items():
                counts[what] = counts.get(what, 0) + count
        except Exception as error:
            print(f"{kind}, case {case} of seed {seed}: {error}")
            for line in log:
                print(f"    {line[:300]}")
            return False
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    print(f"{kind:<11}{cases:>7,} cases {time.monotonic() - start:6.1f} s   {told}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", default=str(secrets.randbelow(1 << 32)))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--reference")
    parser.add_argument("kinds", nargs="*")
    options = parser.parse_intermixed_args()
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        sys.exit(f"encryption-peers: there are {', '.join(KINDS)}, but no {', '.join(unknown)}")
    if options.reference:
        other = Peer("reference", sys.executable, HERE / "reference.py", options.reference)
    else:
        other = Peer("others", sys.executable, HERE / "others.py", is_strict=False)
    peers = [Peer("ours", options.peer), other]
    print(f"seed {options.seed}, beside {options.reference or 'packages of PyPI'}", flush=True)
    both = {operation.split(".")[0] for operation in peers[0].operations & peers[1].operations}
    known = [kind for kind in options.kinds or KINDS if kind in both]
    held = [play(kind, options.cases, options.seed, options.first, peers) for kind in known]
    for kind in sorted(set(options.kinds or KINDS) - set(known)):
        print(f"{kind:<11}is not known to the other side")
    for peer in peers:
        peer.stop()
    sys.exit(0 if all(held) else 1)


main()
