"""The step of action.yml: asks about the command, and becomes it. There is no step behind it that `if: always()` would run anyway."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python/src"))
from countersign import Asked, Countersign, CountersignError

env = os.environ
job = f"{env['GITHUB_SERVER_URL']}/{env['GITHUB_REPOSITORY']}/actions/runs/{env['GITHUB_RUN_ID']}"
within = float(env["APPROVAL_WITHIN"])


def git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], text=True)


def sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def facts() -> Dict[str, Any]:
    """What is about to run; equal in every attempt, so that a job that is run again joins the request that still waits."""
    changed = [path for path in git("diff", "--name-only", "-z", "HEAD").split("\0") if path]
    return {
        "command": env["APPROVAL_RUN"],
        "commit": git("rev-parse", "HEAD").strip(),
        "changed_since": {path: sha256(path) if Path(path).is_file() else "no file" for path in changed},
        "files": {path: sha256(path) for path in env["APPROVAL_FILES"].split("\n") if path},
        "job": job,
    }


def asked(request: Asked) -> None:
    print(f"::notice title=A person decides::{request.review_url}")
    for file, text in (("OUTPUT", f"request={request.id}"), ("STEP_SUMMARY", f"[Decision]({request.review_url})")):
        with open(env[f"GITHUB_{file}"], "a", encoding="utf-8") as appended:
            print(text, file=appended)


def run(approved: Dict[str, Any]) -> NoReturn:
    if facts() != approved:
        sys.exit("::error::Not done: the commit or a file changed since a person was asked.")
    own = {name: value for name, value in env.items() if not name.startswith("APPROVAL_")}
    os.execvpe("bash", ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", approved["command"]], own)


try:
    cs = Countersign(env["APPROVAL_URL"], env["APPROVAL_KEY"], unreachable_after_seconds=min(within, 300))
    cs.guard(
        run,
        action=lambda what: f"Run {what['command'].strip()[:400]}",
        for_=(f"{job} {env['GITHUB_RUN_ATTEMPT']}", f"{env['GITHUB_JOB']} {env['GITHUB_ACTION']}"),
        context=lambda what: what,
        fields={"reuse": "open", "use_within_seconds": 3600},
        ttl_seconds=86400,
        within_seconds=within,
        on_asked=asked,
    )(facts())
except CountersignError as error:
    sys.exit("::error::" + error.sentence.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
