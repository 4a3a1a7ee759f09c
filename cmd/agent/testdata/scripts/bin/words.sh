#!/bin/sh
# What a greeting is made of.
say() {
	echo "hello $1"
}
