// Package store keeps the record in Postgres: runs and their states, candidates with gates and findings, promotions with the content of
// every file, and the cache of results that stay true. It writes what a run did, and joins the packages that keep or read the rest:
// bots, calls, chats, knowledge, plans, history and query.
//
// *DB implements run.Store, run.Recovering, run.Recorder, run.LogStore and verify.Cache. Through its parts it also implements
// loop.Knowledge, loop.Iterations, survey.SymbolStore, survey.SummaryStore, run.Proposals and llm.Journal.
//
// # Tables
//
//	run             what was asked, who works on it, how it ended
//	run_state       every transition of a run, in order, with its reason
//	candidate       one changeset tried in a run, with its diff and verdict
//	candidate_file  its files, by digest
//	gate, finding   what each verification step said about a candidate
//	event           what a run did, one thing per row, never changed
//	promotion       what was written to the workspace, and who approved it
//	promotion_file  its files, by digest
//	recording       what a run saw and was judged with, so that it can be judged again
//	blob            content by SHA-256, kept once however often it is referred to
//	cache           results that stay true; not evidence, and may be emptied
//	model_call      one request to a model, its texts byte for byte, and its price
//	tool_call       what a model called on its workbench, and the answer
//	conversation    how such a conversation ended
//	chat, chat_turn  conversations of people with models: questions, answers, drafts
//	critique        what critics said about a candidate
//	critique_opinion, critique_finding  each critic's own words about it
//	pull, pull_run  pull requests that were opened, and the runs that they consist of
//	review_comment  comments of pull requests that were taken up, and the answers
//	ci_round        repairs of a build that failed
//	integration     changes on their way from a repository to a pull request and its end
//	forge_lease     which process works on which repository
//	bot_job         what people asked for on a forge, and what became of it
//	plan, plan_task  goals larger than one edit, and their tasks
//	plan_attempt    every try at a task, and every plan, merge, review and delivery
//	report, report_row  how a workspace stood, and what each analyzer said
//	model_key       when a key rests or is not used again; never a key itself
//	memory          every version of what was learnt about a workspace
//	cascade         files that use something that changed, waiting and served
//	iteration       rounds of the loop, at most one open for each workspace
//	symbol_file     what a scan found in each file of a workspace
//	summary         what a model said about a file, or about the project
//	proposal        changes that were proposed and not made
//	review          what people said about promotions afterwards
//	state, verdict  the values that these columns may have
//	call_error      the same for model_call.kind and for why a key rests
//	plan_state, task_state  the same for plan.state and plan_task.state
//
// People do not read tables. The views, whose names begin with v_, are the interface; the comment of each says which question it
// answers. Package migrations owns their definitions. No view shows the texts of questions and answers.
//
// Events are only ever added. Triggers refuse to change or delete an event whose run exists, even for the owner of the table, who would
// have to alter the table first.
//
// Only stale cache entries, and symbols and summaries of files that are gone, are deleted automatically. On a person's request, what is
// known about a key is deleted, and Prune deletes runs that ended long ago and that nothing depends on, with their requests. A run that
// is removed by hand takes its rows with it; its requests stay, and its blobs stay until a Prune finds that nothing refers to them.
// What was promoted and what was learnt stays permanently. The files of a recording are named in its inventory, which is a blob too,
// and not by foreign keys.
//
// # Writes
//
// Every write of a run locks its row and compares the fencing token, so a process that was taken for dead cannot write over its
// successor. A run that has ended takes no more writes. Events are the exception: whoever did something adds them, at any time, since
// they are true in any case.
//
// Each operation carries an identifier of its own, kept in the row. If a connection dies after a commit but before the answer, the
// operation is retried, finds its identifier, and does nothing twice. A write outside the row of a run either has an identifier in its
// own row, or is made so that doing it twice is the same as doing it once.
package store
