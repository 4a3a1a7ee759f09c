// Package crew is what a goal larger than one edit is made of: a plan of tasks, who does
// each, and the workspace as the finished ones leave it. It is pure: it reads what a planner
// answered, says what is wrong with it, tells which tasks may begin, and merges their
// changes. Package builder carries a plan out.
//
// Nothing that a model says here is believed. A plan is checked in code, its limits are
// numbers of a role's file and not words of a prompt, and what a task did is what the
// gates let pass of it.
package crew
