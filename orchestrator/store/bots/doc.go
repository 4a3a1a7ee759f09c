// Package bots keeps what people ask the agent to do on a forge: a queue of jobs in one table. One worker at a time does a job, and
// each repository has at most one job in progress.
package bots
