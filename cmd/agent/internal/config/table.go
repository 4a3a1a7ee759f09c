// Package config decides which settings apply to a command, from flags, the environment, the workspace's agent.toml,
// the user's own file and defaults.
//
// It owns the table of what can be configured, one row per setting, from which both files, the flags, the environment,
// `agent config` and the documents are made. It also owns the rule that a workspace may tighten what applies without it
// and never widen it. Anything invalid anywhere is an error, in every command. It connects to nothing.
package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
	"agent/verify/policy"
)

// A Setting is one value that can be configured: by its flag, in the environment, in the workspace's file, in the
// user's file, or not at all. The first of these that has it wins. A value is text in every layer; its kind gives it a
// type.
type Setting struct {
	Name    string // also its key in a file, unless file names another
	Flag    string // "" for none
	Env     string // several are separated by spaces: the first that is set
	Default string // what applies if it is not set; a box, not this package, applies the default of an owned setting
	About   string // one line of help

	scope scope
	kind  kind
	// owned says that the package which takes the value has the default. It is left zero here, so that records show
	// what was asked for.
	owned bool
	held  string // for an owned setting whose Default is in words: the value that applies if it is not set
	usage string // help of the flag, for one command
	short string // the flag's short name
	file  string // its key in a file, "" for Name
}

// A scope says who may set a value in a file, and what a workspace's file may do.
type scope string

const (
	noFile    scope = "no file"    // for one command or one process
	userOnly  scope = "no"         // the user's own file: being able to commit to a workspace must not be enough to decide it
	free      scope = "yes"        // it decides what is proved, and the result shows it to the user
	lower     scope = "lower"      // a number that bounds what untrusted code gets
	switchOff scope = "switch off" // only the user may switch it on
	add       scope = "add to it"  // the user's own values stay
	leaveOut  scope = "leave out"  // leaves out some of the user's own
)

// MaxAttempts bounds the requests for one question.
const MaxAttempts = 16

// maxCandidates bounds what is asked for at once. As many boxes wait for the candidates as a pool holds, see
// sandbox.PoolConfig.
const maxCandidates = 64

// Table returns every setting, in printing order.
func Table() []Setting { return slices.Clone(table) }

// table holds the settings, including those of all existing vendors.
var table = rows(vendors.All())

// rows returns the table. A new setting is one row of it, and a field of values that its kind fills.
func rows(list []llm.Vendor) []Setting {
	all := append(append(general(), remotes()...), budget()...)
	for _, v := range list {
		for _, s := range v.Settings {
			all = append(all, vendorRow(v, s))
		}
	}
	return all
}

// general returns the settings that apply to every command.
func general() []Setting {
	return []Setting{
		{Name: "workspace", Flag: "workspace", Env: "AGENT_WORKSPACE", Default: ".", About: "the directory to work on", scope: noFile, kind: text(nil), usage: "work on `DIR`", short: "w"},
		{Name: "database_url", Env: "AGENT_DATABASE_URL", About: "the Postgres that keeps the record; empty: the agent's own container", scope: userOnly, kind: databaseURL()},
		{Name: "yes", Flag: "yes", Env: "AGENT_YES", Default: "false", About: "promote what passed without asking", scope: noFile, kind: toggle(nil), usage: "write what passed without asking", short: "y"},
		{Name: "no_promote", Flag: "no-promote", Env: "AGENT_NO_PROMOTE", Default: "false", About: "prove only", scope: noFile, kind: toggle(nil), usage: "prove only, write nothing"},
		{Name: "json", Flag: "json", Env: "AGENT_JSON", Default: "false", About: "print results as JSON", scope: noFile, kind: toggle(nil), usage: "print one JSON document"},
		{
			Name: "allow", Flag: "allow", Env: "AGENT_ALLOW", Default: "[]", About: "kinds of change approved in advance",
			scope: userOnly, kind: list(nil), usage: "approve changes of this `KIND` (" + strings.Join(policy.Kinds(), ", ") + ") in advance; may be repeated",
		},
		{Name: "allow_in", Default: "{}", About: "the same for single workspaces: lists by absolute path", scope: userOnly, kind: mapping(func(*values, map[string][]string) {})},
		{
			Name: "self.unattended", Env: "AGENT_SELF_UNATTENDED", Default: "false", scope: userOnly, kind: toggle(nil),
			About: "agent self rebuild --yes approves changes of the agent's own source that touch nothing protected; off: each waits for a person",
		},
		{Name: "protect.paths", Default: "[]", About: "patterns of paths that need an approval of their own (--allow protected)", scope: add, kind: protectedPaths()},
		{Name: "exclude", Env: "AGENT_EXCLUDE", Default: "[]", About: "patterns left out of the snapshot", scope: free, kind: list(nil)},
		{Name: "timeout", Env: "AGENT_TIMEOUT", Default: "5m0s", About: "time limit of each gate except smoke", scope: lower, kind: duration(func(v *values) *time.Duration { return &v.verify.Timeout }), owned: true},
		{Name: "limits.memory", Env: "AGENT_MEMORY", About: "memory of a box; empty: an eighth of the machine, 1 to 4 GiB, and the size of /work", scope: lower, kind: memory(), owned: true, held: "1280MiB"},
		{Name: "limits.cpus", Env: "AGENT_CPUS", Default: "2", About: "processors of a box", scope: lower, kind: processors(), owned: true},
		{Name: "limits.pids", Env: "AGENT_PIDS", Default: "256", About: "processes in a box", scope: lower, kind: processes(), owned: true},
		{
			Name: "runtime", Env: "AGENT_RUNTIME", About: "runtime of the boxes, e.g. runsc; auto: runsc if the engine has it; empty: the engine's own",
			scope: userOnly, kind: text(func(v *values, t string) error { v.verify.Runtime = t; return nil }), owned: true,
		},
		{Name: "smoke.command", Default: "[]", About: "how the smoke test starts the program; empty: found by convention", scope: free, kind: command(), owned: true},
		{Name: "smoke.seconds", Default: "10", About: "how long the smoke test watches", scope: lower, kind: smokeSeconds(), owned: true},
		{
			Name: "smoke.ready", About: "path, port:N/path or text that shows the program is up; empty: an answer to /",
			scope: free, kind: text(func(v *values, t string) error { v.verify.Smoke.Ready = t; return v.verify.Smoke.Check() }), owned: true,
		},
		{Name: "smoke.env", Default: "{}", About: "environment of the smoke test", scope: free, kind: environment(), owned: true},
		{Name: "tests.run", Default: "all", About: "all: every test, those that the patch can affect first; affected: only the packages that it can affect", scope: free, kind: testChoice(), owned: true},
		{
			Name: "dependencies.install", Flag: "no-install", Env: "AGENT_INSTALL", Default: "true",
			About: "install the workspace's dependencies, once for each state of its lock files",
			scope: switchOff, kind: toggle(nil),
			usage: "skip dependency installation, as AGENT_INSTALL=false does; otherwise what the lock files list is installed once, in an image",
		},
		{Name: "dependencies.partial", Env: "AGENT_INSTALL_PARTIAL", Default: "true", About: "continue without what cannot be installed, and say so; off: exit code 3", scope: switchOff, kind: toggle(nil)},
		{Name: "dependencies.scripts", Env: "AGENT_INSTALL_SCRIPTS", Default: "false", About: "let packages run their own code while they are installed", scope: switchOff, kind: toggle(nil)},
		{Name: "environment.packages", Env: "AGENT_PACKAGES", Default: "[]", About: "Debian packages that the boxes have besides the tools, e.g. for tests", scope: add, kind: debianPackages()},
		{Name: "record.files", Env: "AGENT_RECORD_FILES", Default: "true", About: "keep the files that a run saw in the record, so that it can be replayed", scope: switchOff, kind: toggle(func(v *values) *bool { return &v.keep.Files })},
		{Name: "export.files", Env: "AGENT_EXPORT_FILES", Default: "false", About: "write memory and history to .agent/MEMORY.md and .agent/HISTORY.md of the workspace after each promotion", scope: userOnly, kind: toggle(nil)},
		{Name: "record.bytes", Env: "AGENT_RECORD_BYTES", Default: "256MiB", About: "keep no files of a workspace that is larger", scope: noFile, kind: size(func(v *values) *int64 { return &v.keep.Bytes })},
		{
			Name: "egress.allow", Env: "AGENT_EGRESS", Default: "[]",
			About: "hosts that the smoke test, the tests and the workspace's own gates may reach, with a port, or else 443 and 80; a workspace can only leave hosts out",
			scope: leaveOut, kind: hosts(), owned: true,
		},
		{
			Name: "fetch.allow", Env: "AGENT_FETCH", Default: "[]", About: "hosts whose web pages a model may read in `agent chat`, with a port, or else 443 and 80; empty: the model has no such tool",
			scope: userOnly, kind: pages(),
		},
		{Name: "gate", Default: "[]", About: "the workspace's own gates, after the built-in ones", scope: add, kind: gateList(), owned: true},
	}
}

// remotes returns the settings for where repositories are hosted, and what opens them. A workspace has no say: its own
// remote must not decide who is shown the token.
func remotes() []Setting {
	return []Setting{
		{Name: "forge.url", Env: "AGENT_FORGE_URL", Default: "https://github.com", About: "the forge that the token is for: pull requests are opened there and nowhere else", scope: userOnly, kind: address()},
		{
			Name: "forge.kind", Env: "AGENT_FORGE_KIND", About: "kind of that forge: github, gitea (also for Forgejo) or gitlab; empty: by its host, if that is well known",
			scope: userOnly, kind: choice(forgeKinds(), func(*values, string) {}),
		},
		{Name: "forge.token", Env: "AGENT_FORGE_TOKEN", About: "the token for the forge; empty: from your own git credential helper", scope: userOnly, kind: secretText()},
		{Name: "serve.secret", Env: "AGENT_SERVE_SECRET", About: "the secret with which the forge signs its webhooks, as you set it there; empty: none are accepted", scope: userOnly, kind: secretText()},
		{Name: "serve.label", Env: "AGENT_SERVE_LABEL", Default: "agent", About: "the label of issues and pull requests that asks `agent serve` for work", scope: userOnly, kind: text(nil)},
		{Name: "serve.people", Env: "AGENT_SERVE_PEOPLE", Default: "[]", About: "who may ask `agent serve` for work besides those who may write to the repository", scope: userOnly, kind: list(nil)},
		{Name: "serve.person_hour", Env: "AGENT_SERVE_PERSON_HOUR", Default: "5", About: "jobs that `agent serve` takes on for one person in an hour", scope: userOnly, kind: count[int](1, 10_000, nil)},
		{Name: "serve.person_day", Env: "AGENT_SERVE_PERSON_DAY", Default: "20", About: "jobs that it takes on for one person in a day", scope: userOnly, kind: count[int](1, 10_000, nil)},
		{Name: "serve.repository_hour", Env: "AGENT_SERVE_REPOSITORY_HOUR", Default: "10", About: "jobs that it takes on for one repository in an hour", scope: userOnly, kind: count[int](1, 10_000, nil)},
		{Name: "serve.repository_day", Env: "AGENT_SERVE_REPOSITORY_DAY", Default: "50", About: "jobs that it takes on for one repository in a day", scope: userOnly, kind: count[int](1, 10_000, nil)},
	}
}

// budget returns the settings for which models are asked, and how much. The caps with a default keep a run from going
// on for ever; money is capped only if the user gives prices. Where models are asked has no place in a workspace's
// file: anyone who can commit there could have the code sent elsewhere, or at another price.
func budget() []Setting {
	return []Setting{
		{
			Name: "model", Flag: "model", Env: "AGENT_MODEL", Default: "[]", About: "models to ask, VENDOR/NAME, in order of preference; empty: " + defaultModels(),
			scope: userOnly, kind: list(nil), usage: "ask `VENDOR/NAME` (see agent models); more of them are fallbacks, in order",
		},
		{
			Name: "candidates", Flag: "candidates", Env: "AGENT_CANDIDATES", Default: "1", About: "how many different changes are asked for, up to " + strconv.Itoa(maxCandidates),
			scope: userOnly, kind: count(1, maxCandidates, func(v *values) *int { return &v.candidates }),
			usage: "ask for `N` different changes, take the best (1 to " + strconv.Itoa(maxCandidates) + ")",
		},
		{
			Name: "mode", Flag: "mode", Env: "AGENT_MODE", Default: "auto",
			About: "how a model finds a change: tools, it looks around and edits with tools; question, it is shown what it needs and answers once; auto, tools if it can call them",
			scope: userOnly, kind: choice([]string{"auto", "tools", "question"}, func(*values, string) {}), usage: "`HOW` the model finds the change: tools, question or auto",
		},
		{
			Name: "critic", Flag: "critic", Env: "AGENT_CRITIC", Default: "[]",
			About: "models, VENDOR/NAME, that review what passed before it is decided on; their findings go back to the author once, and decide nothing; empty: none",
			scope: userOnly, kind: list(nil), usage: "have `VENDOR/NAME` review what passed; may be repeated",
		},
		{
			Name: "agree", Flag: "agree", Env: "AGENT_AGREE", Default: "1", About: "how many critics must find the same for it to count",
			scope: userOnly, kind: count(1, 9, func(v *values) *int { return &v.agree }), usage: "`N` critics must find the same for it to count",
		},
		{Name: "countdown", Env: "AGENT_COUNTDOWN", Default: "3m40s", About: "how long a question on a terminal waits for its answer; 0: forever", scope: userOnly, kind: unbounded(func(v *values) *time.Duration { return &v.countdown })},
		{
			Name: "notify", Env: "AGENT_NOTIFY", Default: "off", About: "how a terminal calls you when a run waits for you: off, bell, or osc9 for a desktop notification",
			scope: userOnly, kind: choice([]string{"off", "bell", "osc9"}, func(*values, string) {}),
		},
		{
			Name: "expiry", Flag: "expiry", Env: "AGENT_EXPIRY", Default: "stop",
			About: "what happens if no answer comes in time: stop, to apply it later, or apply what passed and needs no approval; a proposed feature is kept either way",
			scope: userOnly, kind: expiry(), usage: "do `WHAT` if a question is not answered in time: stop (the run awaits approval), or apply what passed",
		},
		{
			Name: "features", Flag: "features", Env: "AGENT_FEATURES", Default: "false", About: "implement the feature that a review proposes when it finds nothing to fix; off: it is kept as a proposal",
			scope: userOnly, kind: toggle(nil), usage: "implement the feature that a review proposes when it finds nothing to fix",
		},
		{
			Name: "checkpoint", Env: "AGENT_CHECKPOINT", Default: "apply", About: "when a person at the terminal is asked: apply, before what passed is applied; model, also before each request to a model (--ask-model)",
			scope: userOnly, kind: choice([]string{"apply", "model"}, func(*values, string) {}),
		},
		{
			Name: "budget.cost", Flag: "max-cost", Env: "AGENT_MAX_COST", Default: "0", About: "cap on what a run, or a loop as a whole, spends, in the currency of the prices; 0: none",
			scope: lower, kind: money(func(v *values) *llm.Money { return &v.limits.RunCost }), usage: "spend at most `AMOUNT`, in the currency of the prices",
		},
		{
			Name: "budget.question", Env: "AGENT_MAX_QUESTION", Default: "0.20", About: "cap on what the text of one question may cost: how much of a workspace is shown to a model with a large window, 80 KiB at least; 0: none",
			scope: lower, kind: money(func(v *values) *llm.Money { return &v.question }),
		},
		{Name: "budget.day_cost", Env: "AGENT_MAX_DAY_COST", Default: "0", About: "cap on what all runs spend since midnight UTC; 0: none", scope: lower, kind: money(func(v *values) *llm.Money { return &v.limits.DayCost })},
		{
			Name: "budget.tokens", Flag: "max-tokens", Env: "AGENT_MAX_TOKENS", Default: "2000000", About: "cap on the tokens of a run, or of a loop as a whole; 0: none",
			scope: lower, kind: count(0, 1e15, func(v *values) *int64 { return &v.limits.Tokens }), usage: "use at most `N` tokens",
		},
		{
			Name: "budget.requests", Flag: "max-requests", Env: "AGENT_MAX_REQUESTS", Default: "100", About: "cap on the requests of a run, or of a loop as a whole",
			scope: lower, kind: count(1, 1e6, func(v *values) *int { return &v.limits.Requests }), usage: "make at most `N` requests",
		},
		{
			Name: "budget.time", Flag: "max-time", Env: "AGENT_MAX_TIME", Default: "1h0m0s", About: "cap on the time that a run, or a loop as a whole, spends in requests",
			scope: lower, kind: duration(func(v *values) *time.Duration { return &v.limits.RunTime }), usage: "maximum `TIME` spent waiting for models (e.g. 10m)",
		},
		{
			Name: "budget.wall", Flag: "max-wall", Env: "AGENT_MAX_WALL", Default: "0", About: "cap on the time that a loop as a whole takes from its beginning, pauses and gates included; 0: none",
			scope: lower, kind: unbounded(func(v *values) *time.Duration { return &v.wall }), usage: "end the loop after `TIME` (e.g. 8h)",
		},
		{Name: "loop.quiet", Env: "AGENT_LOOP_QUIET", About: "hours of the day, e.g. 22:00-07:00, in which a loop begins no iteration; empty: none", scope: userOnly, kind: quietHours()},
		{Name: "budget.request", Env: "AGENT_MAX_REQUEST", Default: "15m0s", About: "cap on the time of one request", scope: lower, kind: duration(func(v *values) *time.Duration { return &v.limits.Total })},
		{Name: "budget.idle", Env: "AGENT_MAX_IDLE", Default: "5m0s", About: "how long a model may be silent in a request", scope: lower, kind: duration(func(v *values) *time.Duration { return &v.limits.Idle })},
		{Name: "prices", Default: "{}", About: "prices per million tokens by VENDOR/NAME or VENDOR/*, used before those that `agent models` knows", scope: userOnly, kind: priceList()},
		{Name: "exec", Default: "{}", About: "programs of `agent sandbox exec` by their commands, as [exec.NAME]: how they get in, whose models they ask, what else they may reach; see workbench", scope: userOnly, kind: recipeList()},
		{Name: "windows", Default: "{}", About: "tokens of question and answer by VENDOR/NAME or VENDOR/*, used before those that `agent models` knows", scope: userOnly, kind: windowList()},
		{Name: "sampling", Default: "{}", About: "temperature (at least), top_p and top_k by VENDOR/NAME or VENDOR/*, in place of what the model's makers recommend", scope: userOnly, kind: samplingList()},
		{Name: "tools", Default: "{}", About: "how models are given tools, by VENDOR/NAME or VENDOR/*: native, emulated (in their texts) or none", scope: userOnly, kind: toolList()},
	}
}

// vendorRow returns a setting of a vendor. The address of its models is checked only when one is asked: an invalid host
// must not prevent an undo.
func vendorRow(v llm.Vendor, s llm.Setting) Setting {
	row := Setting{Name: v.Key(s), Env: s.Env, Default: s.Default, About: s.About, scope: userOnly}
	if s.File != "" {
		row.file = v.Name + "." + s.File
	}
	switch s.Kind {
	case llm.KeyList:
		row.kind = keyList()
	case llm.Address:
		row.kind = address()
	case llm.ContextTokens:
		row.kind = count[int](minWindow, maxWindow, nil)
	}
	return row
}

// defaultModels says which models are asked if the user names none.
func defaultModels() string {
	var parts []string
	for _, v := range vendors.All() {
		if v.Model == "" {
			continue
		}
		name := v.Name + "/" + v.Model
		if _, keyed := v.Setting(llm.KeyList); keyed {
			name += " when there is a key"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ", then ")
}

// inverted reports whether the flag of a switch says no, that is, switches off what is on without it.
func (k Setting) inverted() bool { return k.Default == "true" }

// unset returns the value that 0 stands for in a setting, or "" if 0 means no cap.
func (k Setting) unset() string {
	if !k.owned || k.held != "" {
		return k.held
	}
	return k.Default
}

// ModelForms lists the names of vendors in a form such as "%s/NAME", joined by between.
func ModelForms(list []llm.Vendor, form, between string) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, fmt.Sprintf(form, v.Name))
	}
	return strings.Join(parts, between)
}
