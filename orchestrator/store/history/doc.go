// Package history reads the record: for people who list runs and review what was written, for undo and blame, which need the content of
// files, and for a replay, which needs everything that a run was judged with. It writes nothing.
//
// Lists read what the views compute, so that the command line and SQL agree.
package history
