// Package crew models a goal larger than one edit: a plan of tasks, the role that does each, and the workspace as the
// finished tasks leave it. It is pure: it reads a planner's answer, says what is wrong with it, lists the tasks that
// may begin, and merges their changes. Package builder carries a plan out.
//
// It believes nothing that a model says. Code checks a plan. Its limits are numbers in a role's file, not words of a
// prompt. Only what the gates let pass counts as what a task did.
package crew
