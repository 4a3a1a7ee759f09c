// Package plans keeps the plans of goals, their tasks, and every try at a task.
//
// A plan has one owner at a time. Taking a plan requires naming its current owner, and every later write names the new one, so that a
// process that was taken for dead writes nothing more.
package plans
