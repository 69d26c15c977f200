import base64, hmac, json, os, re, socket, sqlite3, sys, threading, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = os.environ.get("WEBHOOK_SECRETS", "").split()
if not SECRETS:
    sys.exit("WEBHOOK_SECRETS is not set: it takes the webhook_signing_secret of the key that asks.")
# Set this address yourself: an address taken from the message would be its author's own.
SERVICE = os.environ.get("COUNTERSIGN_URL", "").rstrip("/")
if not SERVICE:
    sys.exit("COUNTERSIGN_URL is not set: it takes the service's address.")
db, one_at_a_time = sqlite3.connect("done.db", check_same_thread=False), threading.Lock()
db.execute("CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY)")


def decided(rid):
    """Returns the decision, or None and the reason. Any holder of the API key can sign a callback, so this asks the service."""
    if not re.fullmatch("req_[0-9a-z]{26}", rid):
        return None, "it names no request"
    try:
        with urllib.request.urlopen(f"{SERVICE}/api/v1/approvals/{rid}/verify", timeout=5) as answer:
            verdict = json.load(answer)
    except urllib.error.HTTPError as refusal:
        if refusal.code == 404:
            return None, "the service knows no such request"
        raise
    if not verdict["valid"]:
        return None, f"the service says: {verdict['error']}"
    if verdict.get("sandbox"):
        return None, "a sandbox key asked, so nobody decided"
    if abs(time.time() - verdict["payload"]["ts"]) > 900:
        return None, "decided more than 15 minutes ago"
    return verdict["decision"], None


def receive(headers, body):
    event_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signed = f"{event_id}.{sent}.".encode() + body
    macs = [b"v1," + base64.b64encode(hmac.digest(key.encode(), signed, "sha256")) for key in SECRETS]
    offered = headers.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(a, b) for a in offered for b in macs):
        return 401, "signed with none of WEBHOOK_SECRETS: each key has its own, a sandbox key too"
    try:
        fresh, rid = abs(time.time() - float(sent)) <= 300, json.loads(body)["request_id"]
    except (KeyError, TypeError, ValueError):
        return 400, "not the body of a callback"
    if not isinstance(rid, str):
        return 400, "not the body of a callback"
    if not fresh:
        return 400, "sent more than 300 s away from this clock"
    decision, reason = decided(rid)
    if decision is None:
        return 403, reason
    with one_at_a_time, db:  # one transaction: if your action fails, the id is not kept, and the callback comes again
        if db.execute("INSERT OR IGNORE INTO done VALUES (?)", [rid]).rowcount == 1:
            print(rid, decision, flush=True)  # act here, on what you asked for under this id
    return 200, None


class Receiver(BaseHTTPRequestHandler):
    def handle(self):  # takes 20 s at most, however slowly the body arrives
        end = threading.Timer(20, self.connection.shutdown, [socket.SHUT_RD])
        end.daemon = True
        end.start()
        try:
            super().handle()
        finally:
            end.cancel()

    def answer(self, status, reason):
        if reason:  # logs neither a secret nor what the sender wrote
            print(f"refused ({status}): {reason}", file=sys.stderr, flush=True)
        self.send_response_only(status)
        self.end_headers()

    def send_error(self, code, *_):  # the server's own refusals, which would log what the sender wrote
        self.request_version, self.close_connection = "HTTP/1.1", True
        self.answer(code, "not a POST, or its head cannot be read")

    def do_POST(self):
        length = self.headers.get("Content-Length", "65537")
        if not re.fullmatch("[0-9]+", length):
            self.send_error(400)
        elif len(length) > 5 or int(length) > 65536:
            self.answer(413, "longer than 65,536 bytes, or of no stated length")
        else:
            self.answer(*receive(self.headers, self.rfile.read(int(length))))


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("RECEIVER_PORT", 4000))), Receiver).serve_forever()
