#!/bin/sh
# Greets whoever is named.
. "$(dirname "$0")/words.sh"
say "$1"
