#!/bin/sh
# Writes .env for docker compose, with fresh secrets. Never overwrites one: other secrets would void keys and passkeys.
#   sh deploy/new-env.sh                                    to try it on http://localhost:8080
#   sh deploy/new-env.sh https://approvals.example.com DIR   DIR holds fullchain.pem and privkey.pem
#   sh deploy/new-env.sh https://approvals.example.com       TLS ends at a proxy of your own, which forwards to port 8080
set -eu
cd "$(dirname "$0")/.."
base_url=${1:-http://localhost:8080}
tls_dir=${2:-}

fail() {
  echo "new-env.sh: $1" >&2
  exit 1
}

[ ! -e .env ] || fail '.env exists; its secrets are in use. Change it by hand.'
umask 077
secret() { head -c 32 /dev/urandom | base64; }
password() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

# Does the file lie elsewhere than in the folder, or is it named by a path that the container does not have?
leads_out() {
  case $(readlink "$1/$2" || true) in /*) return 0 ;; esac
  real=$(realpath "$1/$2" 2>/dev/null || readlink -f "$1/$2")
  case $real in "$(cd "$1" && pwd -P)"/*) return 1 ;; esac
}

case $base_url in
  http://localhost:*[!0-9]* | http://localhost: | */) fail "$base_url must be an origin, without a path" ;;
  http://localhost | http://localhost:*)
    [ -z "$tls_dir" ] || fail 'a folder of certificates goes with an https: address'
    port=${base_url#http://localhost}
    port=${port#:}
    settings="# A trial on this machine: production refuses plain http.
NODE_ENV=development
HTTP_PORT=${port:-80}"
    ;;
  https://*/* | https://) fail "$base_url must be an origin, without a path" ;;
  https://*)
    settings='NODE_ENV=production'
    if [ -n "$tls_dir" ]; then
      for file in fullchain.pem privkey.pem; do
        [ -r "$tls_dir/$file" ] || fail "$tls_dir/$file cannot be read"
        leads_out "$tls_dir" "$file" && fail "$tls_dir/$file is a link out of that folder, and the container has the folder alone.
Copy what it leads to into a folder of its own, and name that. For certbot, as a deploy hook:
  cp -L $tls_dir/fullchain.pem $tls_dir/privkey.pem /etc/tls/approvals/ && cd '$PWD' && docker compose kill -s HUP proxy"
      done
      settings="$settings
COMPOSE_FILE=docker-compose.yml:deploy/docker-compose.https.yml
TLS_DIR=$(cd "$tls_dir" && pwd)"
    else
      settings="$settings
# Two proxies: your own and the one in the compose file.
TRUST_PROXY=2
HTTP_PORT=8080"
    fi
    ;;
  *) fail "$base_url: passkeys need https://, or http://localhost on this machine" ;;
esac

cat >.env.new <<END
# Written by deploy/new-env.sh for docker compose; .env.example explains the settings. Keep a backup in a safe place.
BASE_URL=$base_url
$settings
API_KEY_PEPPER=$(secret)
TOKEN_SECRET=$(secret)
SEALING_KEY=$(secret)
WEBHOOK_MASTER_SECRET=$(secret)
MONGO_ROOT_PASSWORD=$(password)
MONGO_APP_PASSWORD=$(password)
END
mv .env.new .env
echo "Wrote .env for $base_url. Next: docker compose up -d"
[ ! -d data ] || echo 'npm start in this folder reads this .env, too; the store in data/, made with other secrets, needs those of data/secrets.json.'
