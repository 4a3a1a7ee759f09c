// Package builder carries out plans. A task is a run without a patch on the integration tree: the workspace as it is on
// disk with the changes of the finished tasks. That tree is not a directory: it consists of the record's candidates
// laid over the files, merged three ways where a person has edited them in the meantime. Nothing has to be kept or
// cleaned up, and a plan can continue on any day.
//
// A change that passed is added to the tree if the tree is still as it was when the task began; if it has moved, the
// change is merged and judged again there. Up to Parallel tasks are in progress at a time, if neither depends on the
// other or touches its files. Their results are judged together (package batch) if they arrive at about the same time,
// and land together. At the end the whole is one changeset, which is judged once more, reviewed, and promoted as a
// whole, in the same way as any other run. Until then the workspace is not touched.
//
// Every step is recorded before it takes effect. A try has a name, under which its answers are kept, before it asks a
// model. A task counts as done when its row says so. A process that continues a plan repeats no question that was
// answered.
package builder
