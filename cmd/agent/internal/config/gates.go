package config

import (
	"cmp"
	"encoding/json"
	"fmt"

	"agent/verify"
)

// A gateConfig is one of the workspace's own gates; verify.CustomGate explains its meaning.
//
//	[[gate]]
//	name = "protos"
//	command = ["./tools/check-protos", "--strict"]
//	languages = [".proto"]
//	timeout = "1m"
//	when = "touched"
type gateConfig struct {
	Name      string   `toml:"name" json:"name"`
	Command   any      `toml:"command" json:"command"` // a string for the shell, or an array of arguments
	Languages []string `toml:"languages" json:"languages,omitempty"`
	Timeout   string   `toml:"timeout" json:"timeout,omitempty"`
	When      string   `toml:"when" json:"when,omitempty"`
}

// gatesText returns a list of gates as one text, "" for an empty list.
func gatesText(list []gateConfig) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	// Work on a copy: the command is written in the form that runs.
	gates := append([]gateConfig{}, list...)
	for i, g := range gates {
		args, err := commandArgs(fmt.Sprintf("command of gate %q", g.Name), g.Command)
		if err != nil {
			return "", err
		}
		gates[i].Command = args
	}
	text, err := json.Marshal(gates)
	return string(text), err
}

// parseGates is the reverse of gatesText, and refuses gates that are not valid.
func parseGates(text string) ([]verify.CustomGate, error) {
	var list []gateConfig
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	var gates []verify.CustomGate
	for _, c := range list {
		g := verify.CustomGate{Name: c.Name, Languages: c.Languages, When: c.When}
		var err error
		if g.Command, err = commandArgs("command", c.Command); err != nil {
			return nil, err
		}
		if c.Timeout != "" {
			if g.Timeout, err = parseDuration(c.Timeout); err != nil {
				return nil, fmt.Errorf("gate %q: %w", c.Name, err)
			}
		}
		gates = append(gates, g)
	}
	return gates, verify.CheckGates(gates)
}

// addGates puts the gates of the outer file before those of the inner: a workspace adds to the gates that its user
// always wants, and removes none.
func addGates(outer, inner string) (string, error) {
	var all, more []json.RawMessage
	for _, part := range []struct {
		text string
		list *[]json.RawMessage
	}{{outer, &all}, {inner, &more}} {
		if err := json.Unmarshal([]byte(cmp.Or(part.text, "[]")), part.list); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(append(all, more...))
	return string(text), err
}
