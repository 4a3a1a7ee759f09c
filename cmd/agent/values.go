package main

import (
	"context"
	"flag"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/clients"
	"agent/cmd/agent/internal/command/runs"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/wire"
	"agent/docs"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/run"
	"agent/orchestrator/store/query"
	"agent/verify/policy"
)

// completionPatience bounds how long the record may take to answer while the user waits for a completion.
const completionPatience = time.Second

// A word is a candidate for completion, with its meaning.
type word struct{ text, about string }

// A completer knows the possible values of arguments and flags.
type completer struct {
	app    *cli.App
	getenv func(string) string
}

// flagValues lists the possible values of a command's flag. It returns nil if the flag takes any text or a file.
func (c completer) flagValues(ctx context.Context, path, flag string) []word {
	switch flag {
	case "allow":
		return plain(policy.Kinds(), "approve changes of this kind")
	case "state":
		return plain(run.States(), "runs in this state")
	case "color":
		return []word{{"auto", "on a terminal"}, {"always", "also into a file"}, {"never", "no colour"}}
	case "kind":
		return plain(runs.LogKinds(), "events of this kind")
	case "model":
		return c.models()
	case "proposal":
		return c.proposals(ctx)
	case "replay":
		if path == "sandbox run" {
			return c.runs(ctx)
		}
	}
	return nil
}

// argumentValues lists the possible arguments of a command.
func (c completer) argumentValues(ctx context.Context, path string, before []string) []word {
	switch path {
	case "help":
		return c.topics(before)
	case "mcp install", "mcp uninstall":
		var words []word
		for _, client := range clients.All() {
			words = append(words, word{client.ID, client.Name})
		}
		return words
	case "undo", "review":
		return c.runs(ctx)
	case "sql":
		return c.rows(ctx, "select viewname, obj_description((quote_ident(schemaname) || '.' || quote_ident(viewname))::regclass, 'pg_class') "+
			"from pg_views where schemaname = current_schema() order by 1")
	}
	group, name, _ := strings.Cut(path, " ")
	switch {
	case group == "runs" && name != "list" && name != "verify" && name != "key":
		return c.runs(ctx)
	case group == "proposals" && name != "list":
		return c.proposals(ctx)
	}
	return nil
}

// plain lists words that share one meaning.
func plain[T ~string](list []T, about string) []word {
	var words []word
	for _, text := range list {
		words = append(words, word{string(text), about})
	}
	return words
}

// topics lists what the user may ask help about after the words before.
func (c completer) topics(before []string) []word {
	level := c.app.Commands
	for _, text := range before {
		cmd := find(level, text)
		if cmd == nil {
			return nil
		}
		level = cmd.Subcommands
	}
	words := commandWords(level)
	if len(before) == 0 {
		words = append(words, word{allTopics, "the list of topics"})
		for _, name := range docs.Names() {
			words = append(words, word{name, about(name)})
		}
	}
	return words
}

// models lists the configured models and those that vendors are asked for by default.
func (c completer) models() []word {
	var words []word
	for _, name := range config.ParseList(c.settings()["model"].Text) {
		words = append(words, word{name, "configured"})
	}
	for _, v := range vendors.All() {
		words = append(words, word{v.Name + "/" + v.Model, "default of " + v.Name})
	}
	return words
}

// settings returns the settings of the working directory, or none if they cannot be read.
func (c completer) settings() config.Settings {
	set, err := config.Load(cli.NewContext(c.app, flag.NewFlagSet("", flag.ContinueOnError), nil), c.getenv)
	if err != nil {
		return nil
	}
	return set
}

// runs lists the newest runs.
func (c completer) runs(ctx context.Context) []word {
	return c.rows(ctx, "select run, concat_ws(' ', state, intent, workspace) from v_runs order by started desc limit 30")
}

// proposals lists the open proposals.
func (c completer) proposals(ctx context.Context) []word {
	return c.rows(ctx, "select proposal, concat_ws(' ', kind, path, goal) from v_proposals where state = 'open' order by at desc limit 30")
}

// rows asks the record, if it answers at once. Completion reports no errors.
func (c completer) rows(ctx context.Context, sql string) []word {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	set := c.settings()
	if set == nil {
		return nil
	}
	var words []word
	err := wire.Peek(ctx, set, func(r query.Runner) error {
		return r.Query(ctx, sql, func([]query.Column) error { return nil }, func(values []*string) error {
			w := word{}
			for i, into := range []*string{&w.text, &w.about} {
				if i < len(values) && values[i] != nil {
					*into = *values[i]
				}
			}
			words = append(words, w)
			return nil
		})
	})
	if err != nil {
		return nil
	}
	return words
}
