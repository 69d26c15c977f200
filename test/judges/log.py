"""Judges a log with tlog-scales: cases as JSON on stdin, each with an address, the verifier key and an older checkpoint; on stdout, for
each case, the size or what does not hold."""

import json
import sys

from tlog_scales import tiles
from tlog_scales.backend import make_backend
from tlog_scales.reader import TilesReader
from tlog_scales.signing import Vkey
from tlog_scales.tlog import Checkpoint


def prove(given: dict) -> int:
    key = Vkey.from_string(given["vkey"])
    reader = TilesReader(make_backend(given["url"]))
    older, newest = Checkpoint.from_text(given["older"]), reader.get_checkpoint()
    for checkpoint in older, newest:
        checkpoint.verify(key)
    assert older.origin == newest.origin == key.name
    growth = reader.get_consistency_proof(older.size, newest.size)
    growth.check(older.root_hash, newest.root_hash)
    for index in range(newest.size):
        proof = reader.get_inclusion_proof(index, newest.size)
        proof.check(tiles.leaf_hash(reader.get_entry(index)), newest.root_hash)
    return newest.size


def judge(given: dict) -> int | str:
    try:
        return prove(given)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


json.dump([[judge(case)] for case in json.load(sys.stdin)], sys.stdout)
