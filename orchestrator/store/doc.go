// Package store keeps the record in Postgres: runs and their states,
// candidates with gates and findings, promotions with the content of every
// file, and the cache of results that stay true. It writes what a run did, and
// joins the packages that keep or read the rest: bots, calls, knowledge, plans, history and query.
//
// *DB implements run.Store, run.Recovering, run.Recorder, run.LogStore and
// verify.Cache, and by its parts loop.Knowledge, loop.Iterations, survey.SymbolStore,
// survey.SummaryStore, run.Proposals and llm.Journal.
//
// # Tables
//
//	run             what was asked, who works on it, how it ended
//	run_state       every transition of a run, in order, with its reason
//	candidate       one changeset tried in a run, with its diff and verdict
//	candidate_file  its files, by digest
//	gate, finding   what each verification step said of a candidate
//	event           what a run did, thing by thing, never changed
//	promotion       what was written to the workspace, and who let it pass
//	promotion_file  its files, by digest
//	recording       what a run saw and was judged with, so that it can be judged again
//	blob            content by SHA-256, kept once however often it is referred to
//	cache           results that stay true; no evidence, and free to be emptied
//	model_call      one request to a model, its texts byte for byte, and its price
//	tool_call       what a model called on its workbench, and the answer
//	conversation    how such a conversation ended
//	chat, chat_turn  conversations of people with models: questions, answers, drafts
//	critique        what critics said of a candidate
//	critique_opinion, critique_finding  each critic's own words of it
//	pull, pull_run  pull requests that were opened, and the runs that they are made of
//	review_comment  comments of pull requests that were taken up, and what was answered
//	ci_round        repairs of a build that failed
//	integration     pull requests on their way from a repository to the end
//	forge_lease     which process is at which repository
//	bot_job         what people asked for on a forge, and what became of it
//	plan, plan_task  goals larger than one edit, and their tasks
//	plan_attempt    every try at a task, and every plan, merge, review and delivery
//	report, report_row  how a workspace stood, and what each analyzer said
//	model_key       when a key rests or is not used again; never a key itself
//	memory          every version of what was learnt of a workspace
//	cascade         files that use something which changed, waiting and served
//	iteration       rounds of the loop, at most one open for each workspace
//	symbol_file     what a scan found in each file of a workspace
//	summary         what a model said of a file, or of the project
//	proposal        changes that were proposed and not made
//	review          what people said of promotions afterwards
//	state, verdict  the names that these columns may have
//	call_error      and those of model_call.kind and of why a key rests
//	plan_state, task_state  those of plan.state and plan_task.state
//
// People do not read tables: the views, whose names begin with v_, are the
// interface, each with a comment that says which question it answers. Package
// migrations owns their definitions. Texts of questions and answers are in no
// view.
//
// Events are only ever added: triggers refuse to change or delete one whose run is
// there, also to the owner of the table, who could do it only by altering that.
// Nothing is ever deleted here by itself but stale cache entries, and symbols and summaries of
// files that are gone; and, when a person wants it, what is known of a key, and by Prune
// runs that ended long ago and that nothing depends on, with their requests. A
// run that is removed by hand takes its rows with it; its requests stay, and its
// blobs until a Prune finds that nobody refers to them. What was promoted and
// what was learnt stays for good. The files of a recording are named in
// its inventory, which is a blob too, and by no key.
//
// # Writes
//
// Every write of a run locks its row and compares the fencing token, so a
// process that was taken for dead cannot write over its successor. A run that
// has ended takes no more writes.
// Events are added by whoever did something, at any time: it is true all the same.
//
// Each operation carries an identifier of its own, kept in the row. When a
// connection dies after a commit but before the answer, the operation is tried
// again, finds its identifier, and does nothing twice. What does not belong to
// the row of a run either has an identifier in its own row, or is written in
// such a way that doing it twice is doing it once.
package store
