// Package docs holds the topics that `agent help TOPIC` shows, one Markdown file each, next to this file. The first
// line of a topic's file is its title, and the line that lists of topics show.
package docs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.md
var files embed.FS

// A Topic is one document.
type Topic struct {
	Name  string // as users ask for it; the file is NAME.md
	Title string
	Text  string // the whole document, in Markdown
}

// A Group is a list of topics that are shown together.
type Group struct {
	Title  string
	Topics []string
}

// Groups lists every topic, in the order in which a new user would read them.
func Groups() []Group {
	return []Group{
		{"Using it", []string{"quickstart", "installation", "patches", "goals", "chat", "questions", "directives", "loops", "plans", "task-files", "proposed-changes", "applied-changes", "git", "ci", "pull-requests", "serve", "edit-only", "workbench", "agents", "editors", "scripts", "exit-codes", "commands"}},
		{"What is judged", []string{"gates", "findings", "testing", "unproven", "projects", "own-gates", "report", "dependencies", "network"}},
		{"What is safe", []string{"protection", "approvals", "changed-tests", "isolation", "secrets"}},
		{"Models", []string{"asking-models", "budgets", "context-size", "knowledge"}},
		{"The record", []string{"history", "views", "run-log", "replay"}},
		{"Setting it up", []string{"configuration", "settings", "shells", "self-rebuild", "performance", "troubleshooting"}},
		{"Working on it", []string{"development", "adding", "battery"}},
	}
}

// Find returns the topic with that name.
func Find(name string) (Topic, bool) {
	if strings.ContainsAny(name, "/\\") {
		return Topic{}, false
	}
	text, err := fs.ReadFile(files, name+".md")
	if err != nil {
		return Topic{}, false
	}
	title, _, _ := strings.Cut(string(text), "\n")
	return Topic{Name: name, Title: strings.TrimPrefix(title, "# "), Text: string(text)}, true
}

// Names lists the names of all topics, in the order of Groups.
func Names() []string {
	var names []string
	for _, g := range Groups() {
		names = append(names, g.Topics...)
	}
	return names
}
