#!/bin/sh
# Makes the key by which the members of the replica set know each other, once; its owner is the user MongoDB runs as.
# Usage: make-key-file.sh <file> [<owner>]
set -eu
file=$1
owner=${2:-mongodb}
umask 077
if [ ! -s "$file" ]; then
  # Complete before it has its name: a member must never read half a key. 756 bytes are 1008 characters; 1024 is the most.
  head -c 756 /dev/urandom | base64 >"$file.new"
  mv "$file.new" "$file"
  echo 'replica set key made'
fi
chown "$owner" "$file"
# MongoDB refuses a key that other users may read.
chmod 400 "$file"
