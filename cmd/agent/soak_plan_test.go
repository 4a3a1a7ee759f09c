//go:build soak

package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"agent/orchestrator/run"
)

// A patch is a response, its effect on the workspace, and the result of an undisturbed run.
type patch struct {
	name, text string
	files      map[string]string // the resulting files, by path
	gone       []string
	exits      []int // with --yes
	unlinks    bool  // it changes the file that has another name outside
}

// good reports whether a run may promote it.
func (p patch) good() bool { return p.exits[0] == run.ExitDone }

// A kind of workspace: its files, and the patches for them.
type kind struct {
	name    string
	files   map[string]string
	patches []patch
}

// find returns a patch of the kind.
func (k kind) find(name string) patch {
	for _, p := range k.patches {
		if p.name == name {
			return p
		}
	}
	panic("there is no patch " + name)
}

// editBlock returns one edit block.
func editBlock(path, search, replace string) string {
	return fmt.Sprintf("<EDIT file=%q>\n<SEARCH>\n%s\n</SEARCH>\n<REPLACE>\n%s\n</REPLACE>\n</EDIT>\n", path, search, replace)
}

// seer prints everything that it sees, like a program that looks for secrets.
const seer = `"""Prints all that it sees."""

import os
import pathlib

import shop

print(shop.price(2), dict(os.environ))
for found in sorted(pathlib.Path().rglob("*")):
    if found.is_file():
        print(found, found.read_text(errors="replace"))
`

// shared returns the files of every kind and own. shared.txt has a second name outside.
func shared(own map[string]string) map[string]string {
	files := map[string]string{
		"notes.txt": "one\ntwo\nthree\n", "old.txt": "old\n", "shared.txt": "ours\nand theirs\n", "side.txt": "left\nright\n",
		"other.txt": "untouched\n", "branch.txt": "on main\n", "sub/deep.txt": "deep\ndown\n", "sub/more/leaf.txt": "leaf\n",
	}
	for name, text := range own {
		files[name] = text
	}
	return files
}

// everywhere returns the patches that fit every kind, and own.
func everywhere(own ...patch) []patch {
	const many = "<EDIT file=\"notes.txt\">\n<SEARCH>\ntwo\n</SEARCH>\n<REPLACE>\n2\n</REPLACE>\n</EDIT>\n" +
		"<EDIT file=\"sub/deep.txt\">\n<SEARCH>\ndown\n</SEARCH>\n<REPLACE>\nup\n</REPLACE>\n</EDIT>\n" +
		"<CREATE_FILE path=\"docs/new.txt\">\nnew\n</CREATE_FILE>\n<DELETE_FILE path='old.txt'/>\n<DELETE_FILE path='sub/more/leaf.txt'/>\n"
	create := func(path, text string) string {
		return "<CREATE_FILE path=\"" + path + "\">\n" + text + "</CREATE_FILE>\n"
	}
	return append(own,
		patch{
			name: "many", text: many, exits: []int{0}, gone: []string{"old.txt", "sub/more/leaf.txt", "sub/more"},
			files: map[string]string{"notes.txt": "one\n2\nthree\n", "sub/deep.txt": "deep\nup\n", "docs/new.txt": "new\n"},
		},
		patch{
			name: "linked", text: editBlock("shared.txt", "ours", "mine"), exits: []int{0}, unlinks: true,
			files: map[string]string{"shared.txt": "mine\nand theirs\n"},
		},
		patch{name: "astray", text: editBlock("notes.txt", "nowhere", "x"), exits: []int{1}},
		patch{name: "outside", text: create("../victim/stray.txt", "stray\n"), exits: []int{4}},
		patch{name: "through", text: create("away/stray.txt", "stray\n"), exits: []int{4, 1}},
		patch{name: "onto", text: "<FILE path=\"escape\">\nstray\n</FILE>\n", exits: []int{4, 1}},
		patch{name: "held", text: create(".github/workflows/ci.yml", "on: push\njobs: {}\n"), exits: []int{4}},
	)
}

// side is the patch of a second run: it shares no file with any other patch.
func side() patch {
	return patch{name: "side", text: editBlock("side.txt", "left", "port"), exits: []int{0}, files: map[string]string{"side.txt": "port\nright\n"}}
}

// kinds returns the kinds of workspaces.
func kinds() []kind {
	prices := func(body string) string {
		return "\"\"\"Prices.\"\"\"\n\n\ndef price(count: int) -> int:\n    \"\"\"Return what they cost.\"\"\"\n    return " + body + "\n"
	}
	script := "#!/bin/sh\nset -eu\nenv\ncat ./*.txt sub/*.txt\necho done\n"
	return []kind{
		{"python", shared(map[string]string{"main.py": seer, "shop.py": prices("count * 3")}), everywhere(
			patch{name: "edit", text: editBlock("shop.py", "    return count * 3", "    return count * 4"), exits: []int{0}, files: map[string]string{"shop.py": prices("count * 4")}},
			patch{name: "broken", text: editBlock("shop.py", "    return count * 3", "    return count *"), exits: []int{1}},
			patch{name: "crash", text: editBlock("main.py", "import shop", "import shop\n\nshop.price(int(\"x\"))"), exits: []int{1}},
		)},
		{"shell", shared(map[string]string{"run.sh": script, "agent.toml": "[smoke]\ncommand = [\"sh\", \"run.sh\"]\n"}), everywhere(
			patch{name: "edit", text: editBlock("run.sh", "echo done", "echo ready"), exits: []int{0}, files: map[string]string{"run.sh": strings.ReplaceAll(script, "done", "ready")}},
			patch{name: "crash", text: editBlock("run.sh", "echo done", "exit 3"), exits: []int{1}},
		)},
		{"texts", shared(map[string]string{"data.json": "{\"a\": 1}\n"}), everywhere(
			patch{name: "edit", text: editBlock("data.json", `{"a": 1}`, `{"a": 2}`), exits: []int{0}, files: map[string]string{"data.json": "{\"a\": 2}\n"}},
			patch{name: "broken", text: editBlock("data.json", `{"a": 1}`, `{"a": 2`), exits: []int{1}},
		)},
	}
}

// A planned fault strikes at an instant: at a line of the run's progress, or at a fraction of its usual length.
type planned struct {
	mishap mishap
	marker string
	at     float64 // as a fraction of the usual length, or of 50 ms after the marker
	long   float64 // from 0 to 1: how long, or which one
}

func (p planned) String() string {
	if p.marker != "" {
		return fmt.Sprintf("%s at %q (%.2f, %.2f)", p.mishap.name, p.marker, p.at, p.long)
	}
	return fmt.Sprintf("%s at %.2f (%.2f)", p.mishap.name, p.at, p.long)
}

// A plan holds every random choice of a round.
type plan struct {
	seed   uint64
	way    string // "patch" or "goal"; in this process "inside" or "goal inside"
	kind   int
	patch  patch
	flags  []string
	salt   int    // makes another snapshot
	git    string // "", "clean", "dirty"
	inFile bool   // the address of the database is in the user's configuration
	next   int    // which command settles the run
	again  bool   // repeats the run afterwards
	tmpfs  bool
	faults []planned
}

func (p plan) String() string {
	k := kinds()[p.kind]
	return fmt.Sprintf("%s, %s %s %v, git %q, tmpfs %v, then %d: %v", p.way, k.name, p.patch.name, p.flags, p.git, p.tmpfs, p.next, p.faults)
}

// inside reports whether the run takes place in this process.
func (p plan) inside() bool { return strings.HasSuffix(p.way, "inside") }

// goal reports whether a model finds the patch.
func (p plan) goal() bool { return strings.HasPrefix(p.way, "goal") }

// markers are the beginnings of progress lines, one for each phase.
var markers = []string{"queued", "analyzing", "verifying", "lint", "smoke", "awaiting_approval", "promoting", "promoted"}

// newPlan draws the plan of a seed.
func newPlan(seed uint64) plan {
	// Plans of neighbouring seeds must be unrelated.
	chance := rand.New(rand.NewChaCha8(sha256.Sum256(binary.BigEndian.AppendUint64(nil, seed))))
	one := func(list ...string) string { return list[chance.IntN(len(list))] }
	p := plan{
		seed: seed,
		way:  one("patch", "patch", "patch", "patch", "patch", "goal", "inside", "goal inside"), kind: []int{0, 1, 1, 2, 2}[chance.IntN(5)], salt: chance.IntN(3),
		git: one("", "clean", "clean", "dirty"), inFile: chance.IntN(2) == 0, next: chance.IntN(4), again: chance.IntN(6) == 0, flags: []string{"--yes"},
	}
	// Python's type check takes as long as everything else, so Python gets fewer turns.
	k := kinds()[p.kind]
	p.patch = k.patches[chance.IntN(len(k.patches))]
	if chance.IntN(2) == 0 || p.goal() { // other patches end the run early
		p.patch = k.find(one("edit", "many", "linked"))
	}
	if !p.goal() {
		switch chance.IntN(12) {
		case 0:
			p.flags = nil
		case 1:
			p.flags = []string{"--yes", "--no-promote"}
		}
	}
	for range min(2, chance.IntN(7)/2) { // none, one or two; mostly two
		fitting := mishaps()
		for n := range fitting {
			// A fault that does not fit is drawn again, so that all are equally likely.
			f := fitting[(chance.IntN(len(fitting))+n)%len(fitting)]
			if f.fits != nil && !f.fits(p) || p.struck(f.name) || p.clashes(f) {
				continue
			}
			drawn := planned{mishap: f, at: chance.Float64() * 1.02, long: chance.Float64()}
			if chance.IntN(2) == 0 {
				drawn.marker = one(markers...)
			}
			if f.early {
				drawn.at, drawn.marker = drawn.at*0.8, ""
			}
			p.faults = append(p.faults, drawn)
			p.tmpfs = p.tmpfs || f.name == "full disk"
			break
		}
	}
	return p
}

// struck reports whether a fault with one of these names is planned.
func (p plan) struck(names ...string) bool {
	for _, f := range p.faults {
		for _, name := range names {
			if f.mishap.name == name {
				return true
			}
		}
	}
	return false
}

// exits returns the exit codes with which a run of q may end.
func (p plan) exits(q patch) []int {
	list := q.exits
	if len(p.flags) == 0 && q.good() {
		list = []int{run.ExitApproval}
	}
	if q.name == "held" && len(p.flags) == 2 { // without a promotion no approval is needed
		list = []int{run.ExitDone}
	}
	list = append([]int{}, list...)
	for _, f := range p.faults {
		list = append(list, f.mishap.exits...)
	}
	return list
}
