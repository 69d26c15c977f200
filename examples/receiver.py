import base64, hmac, json, os, re, socket, sqlite3, threading, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = os.environ["WEBHOOK_SECRETS"].split()
SERVICE = os.environ["COUNTERSIGN_URL"]  # the service's own address: one out of a message would be its author's
db, one_at_a_time = sqlite3.connect("done.db", check_same_thread=False), threading.Lock()
db.execute("CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY)")


def decided(rid):
    """What a person signed. Any holder of the API key can sign a callback; the service knows who decided."""
    if not re.fullmatch("req_[0-9a-z]{26}", rid):
        return None
    try:
        with urllib.request.urlopen(f"{SERVICE}/api/v1/approvals/{rid}/verify", timeout=5) as answer:
            verdict = json.load(answer)
    except urllib.error.HTTPError as refusal:
        if refusal.code == 404:
            return None
        raise
    if not verdict["valid"] or verdict.get("sandbox") or abs(time.time() - verdict["payload"]["ts"]) > 900:
        return None
    return verdict["decision"]


def receive(headers, body):
    event_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signed = f"{event_id}.{sent}.".encode() + body
    macs = [b"v1," + base64.b64encode(hmac.digest(key.encode(), signed, "sha256")) for key in SECRETS]
    offered = headers.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(a, b) for a in offered for b in macs):
        return 401
    try:
        fresh, rid = abs(time.time() - float(sent)) <= 300, json.loads(body)["request_id"]
    except (KeyError, TypeError, ValueError):
        return 400
    if not fresh or not isinstance(rid, str):
        return 400
    decision = decided(rid)
    if decision is None:
        return 403
    with one_at_a_time, db:  # one transaction: if acting fails, the id is not kept and the callback comes again
        if db.execute("INSERT OR IGNORE INTO done VALUES (?)", [rid]).rowcount == 1:
            print(rid, decision, flush=True)  # act here, on what you asked under this id
    return 200


class Receiver(BaseHTTPRequestHandler):
    def handle(self):  # all of it within 20 s, however slowly the body comes
        end = threading.Timer(20, self.connection.shutdown, [socket.SHUT_RD])
        end.daemon = True
        end.start()
        try:
            super().handle()
        finally:
            end.cancel()

    def do_POST(self):
        size = int(self.headers.get("Content-Length", -1))
        self.send_response(receive(self.headers, self.rfile.read(size)) if 0 <= size <= 65536 else 413)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 4000))), Receiver).serve_forever()
