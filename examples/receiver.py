import base64, hmac, json, os, sqlite3, time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRETS = os.environ["WEBHOOK_SECRETS"].split()
db = sqlite3.connect("done.db")
db.execute("CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY)")


def receive(headers, body):
    event_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    signed = f"{event_id}.{sent}.".encode() + body
    macs = [b"v1," + base64.b64encode(hmac.digest(key.encode(), signed, "sha256")) for key in SECRETS]
    offered = headers.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(a, b) for a in offered for b in macs):
        return 401
    if abs(time.time() - int(sent)) > 300:
        return 400
    receipt = json.loads(json.loads(body)["signed_receipt"]["canonical_payload"])
    if receipt.get("sandbox") or receipt["method"] == "sandbox":
        return 403
    with db:  # one transaction: if acting fails, the id is not kept and the callback comes again
        if db.execute("INSERT OR IGNORE INTO done VALUES (?)", [event_id]).rowcount == 1:
            print(receipt["rid"], receipt["decision"], flush=True)  # act here, or put it into a queue
    return 200


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        size = int(self.headers.get("Content-Length", -1))
        self.send_response(receive(self.headers, self.rfile.read(size)) if 0 <= size <= 65536 else 413)
        self.end_headers()


HTTPServer(("127.0.0.1", 4000), Receiver).serve_forever()
