#!/bin/sh
# Runs a command of Countersign beside the service of deploy/systemd, as its user and with its settings and secrets. Run it as root;
# install it with: install -m 755 deploy/countersign.sh /usr/local/bin/countersign
set -eu
set -a
# As systemd reads it: a shell would end a value at a space or an ampersand, and put something in place of a dollar sign.
while IFS= read -r line || [ -n "$line" ]; do
  case $line in [A-Z]*=*) ;; *) continue ;; esac
  value=${line#*=}
  case $value in \"*\" | \'*\') value=${value#?} value=${value%?} ;; esac
  export "${line%%=*}=$value"
done </etc/countersign/env
API_KEY_PEPPER=$(cat /etc/countersign/api_key_pepper)
TOKEN_SECRET=$(cat /etc/countersign/token_secret)
SEALING_KEY=$(cat /etc/countersign/sealing_key)
WEBHOOK_MASTER_SECRET=$(cat /etc/countersign/webhook_master_secret)
NODE_ENV=production
DATA_DIR=/var/lib/countersign
cd /srv/countersign
exec runuser -u countersign -- node bin/countersign.mjs "$@"
