#!/bin/sh
# What a greeting is made of.
echo "hello $1"
