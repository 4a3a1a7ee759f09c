// Package bots keeps what people ask the agent for on a forge: a queue of jobs in one table, of which each is done by
// one worker at a time, and one of a repository at a time.
package bots
