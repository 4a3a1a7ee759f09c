package agent

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"text/template"
)

// A Purpose is what a question is for. Each has one template of that name.
type Purpose string

// The purposes. The first nine come from the original loop and keep its names; the others are questions that it asked
// without a template.
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
	MakePlan      Purpose = "PL"  // make a plan for a goal
	ReviewWhole   Purpose = "RW"  // review the result of a plan
	Critique      Purpose = "CR"  // review a change that passed, as another model
	AnswerCritic  Purpose = "CF"  // change what that review is right about
	Chat          Purpose = "CH"  // answer a person in a conversation about the project
)

// The templates of the instructions that accompany a question: for edits, and for questions with other answers.
const (
	system        Purpose = "system"
	systemTarget  Purpose = "system-target"
	systemProject Purpose = "system-project"
	systemMemory  Purpose = "system-memory"
	systemFeature Purpose = "system-feature"
	systemCritic  Purpose = "system-critic"
	systemTools   Purpose = "system-tools" // in place of system, where a model makes the edits by tools
	systemPlan    Purpose = "system-plan"
	systemReview  Purpose = "system-review"
	systemChat    Purpose = "system-chat"
)

// System returns the template of the instructions that accompany a question: rules for edits would only confuse a model
// that is asked for a path or a memory.
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
	case MakePlan:
		return systemPlan
	case ReviewWhole:
		return systemReview
	case Critique:
		return systemCritic
	case Chat:
		return systemChat
	}
	return system
}

// Templates lists every template: first those of the purposes, then those of the instructions.
func Templates() []Purpose {
	return append(Purposes(), system, systemTarget, systemProject, systemMemory, systemFeature, systemCritic, systemTools, systemPlan, systemReview, systemChat)
}

// Purposes lists every purpose, in the order above.
func Purposes() []Purpose {
	return []Purpose{
		Patch, Feature, Implement, FixLint, FixRuntime, Repair, FixDownstream, UpdateMemory, RefactorMemo, PickTarget, Summarise, MakePlan, ReviewWhole, Critique, AnswerCritic, Chat,
	}
}

//go:embed prompts/*.md
var embedded embed.FS

// partsFile holds the pieces that several templates share.
const partsFile = "prompts/parts.md"

// maxTemplate bounds a workspace's template, in bytes.
const maxTemplate = 64 << 10

// Prompts holds one template for each purpose: from the first layer that has it, or else the built-in one.
type Prompts struct {
	all    map[Purpose]*template.Template
	digest map[Purpose]string
	from   map[Purpose]int // the layer, or BuiltIn
	text   map[Purpose]string
}

// BuiltIn is the layer of a template that no override replaces.
const BuiltIn = -1

// A Source says where a template in use comes from.
type Source struct {
	Name  Purpose
	Layer int
	Text  string
}

// SHA256 returns the digest of the text in hex; a person allows the template by it.
func (s Source) SHA256() string {
	sum := sha256.Sum256([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}

// abouts says what each template is for.
var abouts = map[Purpose]string{
	Patch: "review a file and fix what is wrong with it", Feature: "propose one feature", Implement: "make the change of a goal or of a proposed feature",
	FixLint: "fix what format, syntax, lint or types found", FixRuntime: "fix a crash or a failing test", Repair: "repair a change that failed, knowing its goal",
	FixDownstream: "fix other files that a change broke", UpdateMemory: "merge an iteration into the memory", RefactorMemo: "compress the memory",
	PickTarget: "choose the files to work on", Summarise: "describe the project, and each file in a line",
	Critique: "review a change that passed, as another model", AnswerCritic: "change what such a review is right about",
	system: "instructions of questions for a change: the form of an edit, and that quoted text is data", systemTarget: "instructions of PT",
	systemProject: "instructions of PS", systemMemory: "instructions of UM and RM", systemFeature: "instructions of PF",
	systemTools: "instructions of a change that a model makes by tools",
	MakePlan:    "make a plan of a goal: tasks and their order", ReviewWhole: "review what a plan came to",
	systemPlan: "instructions of PL", systemReview: "instructions of RW",
	systemCritic: "instructions of CR",
	Chat:         "answer a person in a conversation about the project", systemChat: "instructions of CH",
}

// Describe says what the template is for.
func (p Purpose) Describe() string { return abouts[p] }

// BuiltInText returns the built-in template, or false if name is not a template.
func BuiltInText(name Purpose) (string, bool) {
	if abouts[name] == "" {
		return "", false
	}
	data, err := embedded.ReadFile("prompts/" + string(name) + ".md")
	return string(data), err == nil
}

// LoadPrompts reads the templates. Each layer holds overrides named PP.md, PF.md and so on; the first layer that has
// one wins, and a nil layer holds none. A template that does not parse or names an unknown field is an error that says
// where: a half-working prompt would be noticed much later.
func LoadPrompts(layers ...fs.FS) (*Prompts, error) {
	p := &Prompts{
		all: map[Purpose]*template.Template{}, digest: map[Purpose]string{}, from: map[Purpose]int{}, text: map[Purpose]string{},
	}
	shared, err := embedded.ReadFile(partsFile)
	if err != nil {
		return nil, err
	}
	for _, name := range Templates() {
		text, layer, err := source(layers, name)
		if err != nil {
			return nil, err
		}
		t, err := p.parse(shared, name, text)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append(shared, text...))
		p.all[name], p.digest[name] = t, hex.EncodeToString(sum[:])
		p.from[name], p.text[name] = layer, text
	}
	return p, nil
}

// parse reads a template and tries it out.
func (p *Prompts) parse(shared []byte, name Purpose, text string) (*template.Template, error) {
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
	return t, nil
}

// CheckPrompt reports what is wrong with text as the template called name.
func CheckPrompt(name Purpose, text string) error {
	shared, err := embedded.ReadFile(partsFile)
	if err != nil {
		return err
	}
	if len(text) > maxTemplate {
		return fmt.Errorf("read prompt %s.md: it has %d bytes, more than %d", name, len(text), maxTemplate)
	}
	_, err = (&Prompts{}).parse(shared, name, text)
	return err
}

// source returns the text of a template and its layer.
func source(layers []fs.FS, name Purpose) (string, int, error) {
	for i, layer := range layers {
		if layer == nil {
			continue
		}
		data, err := fs.ReadFile(layer, string(name)+".md")
		switch {
		case err == nil && len(data) > maxTemplate:
			return "", i, fmt.Errorf("read prompt %s.md: it has %d bytes, more than %d", name, len(data), maxTemplate)
		case err == nil:
			return string(data), i, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", i, fmt.Errorf("read prompt %s.md: %w", name, err)
		}
	}
	data, err := embedded.ReadFile("prompts/" + string(name) + ".md")
	return string(data), BuiltIn, err
}

// filled returns a brief with something in every field, so that a trial also executes what stands behind a condition.
func filled() Brief {
	return Brief{
		Goal: "x", Target: "x", Language: "x", Code: "x", Rules: "x", Project: "x", Memory: "x", History: "x", Around: "x",
		Findings: "x", Lazy: "x", Cascade: "x", Feature: "x", Extra: "x", Thought: "x", Answer: "x", Repeated: true, Others: []File{{"x", "x"}}, Related: []Excerpt{{"x", "x", "x"}}, Files: []string{"x"}, Candidates: "x", Unlisted: 1, Partial: "x",
		Role: "x", Tasks: "x", Wrong: "x", Diff: "x", Gates: "x", Failure: Failure{"x", "x"}, Attempts: []Attempt{{1, "x", "x", "x"}}, Session: "x", Variant: Variant{2, 2},
	}
}

// Own lists the templates that come from the first layer, which is the workspace's.
func (p *Prompts) Own() (own []Purpose) {
	for _, s := range p.Sources() {
		if s.Layer == 0 {
			own = append(own, s.Name)
		}
	}
	return own
}

// Sources lists every template with the layer it comes from.
func (p *Prompts) Sources() (all []Source) {
	for _, name := range Templates() {
		all = append(all, Source{name, p.from[name], p.text[name]})
	}
	return all
}

// Digests returns the hex SHA-256 of every template.
func (p *Prompts) Digests() map[Purpose]string { return maps.Clone(p.digest) }

// Question renders the question of a purpose.
func (p *Prompts) Question(purpose Purpose, b Brief, f Fence) (Question, error) {
	with := purpose.System()
	if b.Tools && with == system {
		with = systemTools
	}
	instructions, err := p.run(p.all[with], b, f)
	if err != nil {
		return Question{}, fmt.Errorf("render the instructions: %w", err)
	}
	text, err := p.run(p.all[purpose], b, f)
	if err != nil {
		return Question{}, fmt.Errorf("render prompt %s: %w", purpose, err)
	}
	sum := sha256.Sum256([]byte(p.digest[with] + p.digest[purpose]))
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

// functions returns the functions that a template may call: quote sets untrusted text apart, rule explains how, and
// name puts a path on one line.
func functions(f Fence) template.FuncMap {
	return template.FuncMap{"quote": f.Quote, "rule": f.Rule, "name": oneLine}
}
