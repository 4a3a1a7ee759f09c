// Package bot is the agent as a participant on a forge: people ask it for work by a comment, a label or an issue that is
// assigned to it, and it answers there.
//
// It reads what a forge sends, decides who may ask, keeps limits, and has one job after the other done. What is asked
// is one word of a fixed list: no text of an issue or of a comment names a branch, a limit or a command. The queue is
// rows in Postgres, and several bots may share it: each job is done by one of them, and again by another
// only where the first is gone. What jobs do is not known here; that they may be done twice up to any point is the
// promise of who does them.
package bot
