package agent

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"
)

// A Purpose is what a question is for. Each has one template of that name.
type Purpose string

// The purposes. The first nine are those of the original loop and keep its
// names; the others are the questions that it asked without a template.
const (
	Patch         Purpose = "PP"  // review a file and fix what is wrong with it
	Feature       Purpose = "PF"  // propose one feature
	Implement     Purpose = "IF"  // implement a goal or a proposed feature
	FixLint       Purpose = "ALF" // fix what format, syntax or lint found
	FixRuntime    Purpose = "FRE" // fix a crash or a failing test
	Repair        Purpose = "PIR" // fix a change that failed, knowing its goal
	FixDownstream Purpose = "PCF" // fix other files that a change broke
	UpdateMemory  Purpose = "UM"  // merge an iteration into the memory
	RefactorMemo  Purpose = "RM"  // compress the memory
	PickTarget    Purpose = "PT"  // choose the file to work on
	Summarise     Purpose = "PS"  // describe the project, and each file in a line
)

// The templates of the instructions that go with questions: those for edits, and those of questions whose answers are none.
const (
	system        Purpose = "system"
	systemTarget  Purpose = "system-target"
	systemProject Purpose = "system-project"
	systemMemory  Purpose = "system-memory"
	systemFeature Purpose = "system-feature"
)

// System names the template of the instructions that go with a question: rules for edits would only confuse
// who is asked for a path or a memory.
func (p Purpose) System() Purpose {
	switch p {
	case PickTarget:
		return systemTarget
	case Summarise:
		return systemProject
	case UpdateMemory, RefactorMemo:
		return systemMemory
	case Feature:
		return systemFeature
	}
	return system
}

// Templates lists every template: those of the purposes, then those of instructions.
func Templates() []Purpose {
	return append(Purposes(), system, systemTarget, systemProject, systemMemory, systemFeature)
}

// Purposes lists every purpose, in the order above.
func Purposes() []Purpose {
	return []Purpose{
		Patch, Feature, Implement, FixLint, FixRuntime, Repair, FixDownstream, UpdateMemory, RefactorMemo, PickTarget, Summarise,
	}
}

//go:embed prompts/*.md
var embedded embed.FS

// partsFile holds the pieces that several templates share.
const partsFile = "prompts/parts.md"

// maxTemplate bounds a template of a workspace, in bytes.
const maxTemplate = 64 << 10

// Prompts are the templates of a workspace: its own where it has some, those
// that are built in for the rest.
type Prompts struct {
	all    map[Purpose]*template.Template
	digest map[Purpose]string
	own    []Purpose
}

// LoadPrompts reads the templates. override holds those of a workspace by the
// names PP.md, PF.md and so on; nil for none. A template of a workspace that
// does not parse, or names a field that there is not, is an error that says
// where: a half-working prompt would be noticed much later.
func LoadPrompts(override fs.FS) (*Prompts, error) {
	p := &Prompts{all: map[Purpose]*template.Template{}, digest: map[Purpose]string{}}
	shared, err := embedded.ReadFile(partsFile)
	if err != nil {
		return nil, err
	}
	for _, name := range Templates() {
		text, own, err := source(override, name)
		if err != nil {
			return nil, err
		}
		t, err := template.New("parts").Funcs(functions(Fence{})).Parse(string(shared))
		if err == nil {
			t, err = t.New(string(name)).Parse(text)
		}
		if err != nil {
			return nil, fmt.Errorf("read prompt %s.md: %w", name, err)
		}
		for _, trial := range []Brief{{}, filled()} {
			if _, err := p.run(t, trial, NewFence("0")); err != nil {
				return nil, fmt.Errorf("try prompt %s.md: %w", name, err)
			}
		}
		sum := sha256.Sum256(append(shared, text...))
		p.all[name], p.digest[name] = t, hex.EncodeToString(sum[:])
		if own {
			p.own = append(p.own, name)
		}
	}
	return p, nil
}

// source returns the text of a template, and whether it is the workspace's own.
func source(override fs.FS, name Purpose) (string, bool, error) {
	if override != nil {
		data, err := fs.ReadFile(override, string(name)+".md")
		switch {
		case err == nil && len(data) > maxTemplate:
			return "", false, fmt.Errorf("read prompt %s.md: it has %d bytes, more than %d", name, len(data), maxTemplate)
		case err == nil:
			return string(data), true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", false, fmt.Errorf("read prompt %s.md: %w", name, err)
		}
	}
	data, err := embedded.ReadFile("prompts/" + string(name) + ".md")
	return string(data), false, err
}

// filled returns a brief with something in every field, so that a trial
// reaches what stands behind a condition.
func filled() Brief {
	return Brief{
		Goal: "x", Target: "x", Language: "x", Code: "x", Rules: "x", Project: "x", Memory: "x", History: "x", Around: "x",
		Findings: "x", Lazy: "x", Cascade: "x", Feature: "x", Extra: "x", Thought: "x", Answer: "x", Repeated: true, Others: []File{{"x", "x"}}, Related: []Excerpt{{"x", "x", "x"}}, Files: []string{"x"}, Candidates: "x", Unlisted: 1, Partial: "x",
		Failure: Failure{"x", "x"}, Attempts: []Attempt{{1, "x", "x", "x"}}, Session: "x", Variant: Variant{2, 2},
	}
}

// Own lists the templates that the workspace brought.
func (p *Prompts) Own() []Purpose { return slices.Clone(p.own) }

// Digests returns the hex SHA-256 of every template.
func (p *Prompts) Digests() map[Purpose]string { return maps.Clone(p.digest) }

// Question renders the question of a purpose.
func (p *Prompts) Question(purpose Purpose, b Brief, f Fence) (Question, error) {
	instructions, err := p.run(p.all[purpose.System()], b, f)
	if err != nil {
		return Question{}, fmt.Errorf("render the instructions: %w", err)
	}
	text, err := p.run(p.all[purpose], b, f)
	if err != nil {
		return Question{}, fmt.Errorf("render prompt %s: %w", purpose, err)
	}
	sum := sha256.Sum256([]byte(p.digest[purpose.System()] + p.digest[purpose]))
	return Question{
		Purpose: purpose, File: b.Target, Digest: hex.EncodeToString(sum[:]), System: instructions, Text: text, Temperature: b.temperature(), Parts: b.Parts(),
	}, nil
}

// run executes a template with the functions bound to a fence.
func (p *Prompts) run(t *template.Template, b Brief, f Fence) (string, error) {
	t, err := t.Clone()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := t.Funcs(functions(f)).Execute(&text, b); err != nil {
		return "", err
	}
	return strings.TrimSpace(text.String()) + "\n", nil
}

// functions are what a template may call: quote sets untrusted text apart,
// rule explains how, name shows a path on one line.
func functions(f Fence) template.FuncMap {
	return template.FuncMap{"quote": f.Quote, "rule": f.Rule, "name": oneLine}
}
