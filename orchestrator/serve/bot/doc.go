// Package bot makes the agent a participant on a forge: people ask it for work with a comment, a label or by assigning
// an issue to it, and it answers there.
//
// It reads what a forge sends, decides who may ask, enforces limits, and has one job after the other carried out. A
// request is one word from a fixed list: no text of an issue or a comment names a branch, a limit or a command. The
// queue consists of rows in Postgres, and several bots may share it: one of them does each job, and another repeats it
// only if the first is gone. This package does not know what jobs do. The code that does a job promises that it can be
// done again after an interruption at any point.
package bot
