// Package builder carries plans out. A task is a run without a patch on the integration tree:
// the workspace as it is on disk with the changes of the finished tasks. That tree is no
// directory: it is the record's candidates laid over the files, merged three ways where a
// person has edited them meanwhile, so that nothing has to be kept or cleaned up, and a plan
// goes on on any day.
//
// What passed is added to the tree where that is as it was when the task began; where it moved,
// the change is merged and judged again there. Up to Parallel tasks are at work where neither
// depends on nor touches the other; what they come to at about the same time is judged together (package batch), and
// lands together. In the end the whole is one changeset, which is judged once
// more, reviewed, and promoted at once, by the same road as any other run. Until then the
// workspace is not touched.
//
// Every step is recorded before it is acted on: a try has a name before it asks a model, under which
// the answers are kept, and a task counts as done when its row says so. Whoever carries a plan
// on asks no question again that was answered.
package builder
