#!/bin/sh
# Greets whoever is named.
exec "$(dirname "$0")/words.sh" "$1"
