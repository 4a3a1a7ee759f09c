// Package plans keeps the plans of goals, their tasks, and every try at one.
//
// A plan has one owner at a time: whoever takes it names the one that it has, and every later
// write names the new one, so that a process that was taken for dead writes nothing more.
package plans
