package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"agent/sandbox/workspace/lang"
)

// The budgets of the tree, measured in good code bases of this field. Code that exceeds one is split or documented, not
// excused.
const (
	maxFuncP90, maxFunc       = 35, 100
	maxFileP90, maxFile       = 450, 700
	maxComments               = 22 // percent of comment and code lines
	maxMethods                = 7
	minTestRatio              = 0.89
	root                      = "../.."
	docker, buildkit, genai   = "github.com/docker/docker/client", "github.com/moby/buildkit/", "github.com/google/generative-ai-go"
	shippedGuest, moduleName  = "cmd/agent/guestbin", "agent"
	testHelperSuffix, testDir = "test", "testdata"
	// Every package may import package regexp with compilation at the first use.
	lazyPatterns = "sandbox/workspace/lazyregexp"
)

// allowed lists which packages of this module each package may import. A package that is not listed may import none.
// Only cmd sees everything.
var allowed = map[string][]string{
	"cmd/agent": {"*"},
	"cmd/agent/internal/checkpoint": {
		"cmd/agent/internal/config", "cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/agent", "orchestrator/llm", "orchestrator/run",
		"sandbox/workspace", "verify", "verify/policy",
	},
	"cmd/agent/internal/clients": {},
	"cmd/agent/internal/cmdline": {
		"cmd/agent/internal/config", "cmd/agent/internal/document", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "images", "orchestrator/gate",
		"orchestrator/run", "verify",
	},
	"cmd/agent/internal/command/analyze": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"cmd/agent/internal/command/sandbox", "orchestrator/agent", "orchestrator/export", "orchestrator/ledger", "orchestrator/loop", "orchestrator/report", "orchestrator/run",
		"orchestrator/survey", "sandbox/workspace",
	},
	"cmd/agent/internal/command/apply": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config",
		"cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/run", "orchestrator/store/database",
		"orchestrator/store/history",
	},
	"cmd/agent/internal/command/blame": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/blame", "sandbox/workspace",
	},
	"cmd/agent/internal/command/plan": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/crew", "orchestrator/crew/builder", "orchestrator/report", "orchestrator/run", "orchestrator/store/database", "sandbox/workspace",
	},
	"cmd/agent/internal/command/build": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/command/plan", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/crew", "orchestrator/crew/builder", "orchestrator/run",
	},
	"cmd/agent/internal/command/loop": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/build", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/wire", "orchestrator/crew", "orchestrator/run",
	},
	"cmd/agent/internal/command/roles": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/crew",
	},
	"cmd/agent/internal/command/jobs": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/plan", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/crew", "orchestrator/loop", "orchestrator/run", "orchestrator/store/plans",
	},
	"orchestrator/chat": {
		"orchestrator/agent", "orchestrator/agent/conversation", "orchestrator/agent/tools", "orchestrator/llm", "sandbox/workspace",
	},
	"orchestrator/store/chats": {
		"orchestrator/chat", "orchestrator/store/database", "sandbox/workspace/secret/disguise",
	},
	"orchestrator/crew": {
		"orchestrator/blame", "sandbox/workspace",
	},
	"orchestrator/crew/builder": {
		"orchestrator/agent", "orchestrator/crew", "orchestrator/forge/commit", "orchestrator/gate", "orchestrator/gate/batch", "orchestrator/run", "orchestrator/tournament", "sandbox/workspace", "verify",
	},
	"orchestrator/store/plans": {
		"orchestrator/crew", "orchestrator/crew/builder", "orchestrator/run", "orchestrator/store/database",
	},
	"cmd/agent/internal/command/chat": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term",
		"cmd/agent/internal/wire", "orchestrator/agent", "orchestrator/agent/conversation", "orchestrator/agent/tools", "orchestrator/chat", "orchestrator/gate", "orchestrator/llm",
		"orchestrator/loop", "orchestrator/run", "orchestrator/store/database", "sandbox/workspace", "sandbox/workspace/secret",
	},
	"cmd/agent/internal/command/ci": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/proof", "cmd/agent/internal/sarif",
		"cmd/agent/internal/term", "orchestrator/run", "verify",
	},
	"cmd/agent/internal/command/config": {"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/term"},
	"cmd/agent/internal/command/context": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/agent", "orchestrator/llm", "orchestrator/loop", "orchestrator/run", "orchestrator/tournament", "sandbox/workspace",
	},
	"cmd/agent/internal/command/db": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire", "images",
		"orchestrator/store", "sandbox",
	},
	"cmd/agent/internal/command/doctor": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/images", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term",
		"cmd/agent/internal/wire", "images", "orchestrator/run", "orchestrator/store", "sandbox",
	},
	"cmd/agent/internal/command/edit": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term",
		"orchestrator/edit", "orchestrator/edit/batch", "orchestrator/edit/match", "orchestrator/edit/problem", "orchestrator/gate", "orchestrator/run",
		"sandbox/workspace", "sandbox/workspace/promotion", "verify/policy",
	},
	"cmd/agent/internal/command/hook": {
		"cmd/agent/internal/clients", "cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/proof", "cmd/agent/internal/term",
		"orchestrator/forge/hooks", "orchestrator/forge/revision", "orchestrator/run", "verify/policy",
	},
	"cmd/agent/internal/command/images": {"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "images"},
	"cmd/agent/internal/command/initialize": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "orchestrator/llm",
		"orchestrator/llm/vendors", "sandbox", "sandbox/workspace", "sandbox/workspace/lang",
	},
	"cmd/agent/internal/command/keys": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/llm",
	},
	"cmd/agent/internal/command/lsp": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/watch", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/proof", "cmd/agent/internal/term",
	},
	"cmd/agent/internal/command/mcp": {
		"cmd/agent/internal/clients", "cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "orchestrator/serve/mcp",
	},
	"cmd/agent/internal/command/models": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/llm", "orchestrator/llm/catalog", "orchestrator/llm/vendors",
	},
	"cmd/agent/internal/command/memory": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/agent", "orchestrator/run",
	},
	"cmd/agent/internal/command/pr": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config", "cmd/agent/internal/fault",
		"cmd/agent/internal/proof", "cmd/agent/internal/term",
		"cmd/agent/internal/wire", "orchestrator/crew", "orchestrator/forge", "orchestrator/forge/gitea", "orchestrator/forge/github", "orchestrator/forge/gitlab", "orchestrator/forge/mirror",
		"orchestrator/gate", "orchestrator/pull", "orchestrator/run", "orchestrator/serve/bot", "orchestrator/store", "orchestrator/store/database", "orchestrator/store/history",
		"sandbox/workspace", "sandbox/workspace/git", "verify",
	},
	"cmd/agent/internal/command/serve": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/pr", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/forge", "orchestrator/serve/bot", "sandbox/owner",
	},
	"orchestrator/serve/bot":  {"orchestrator/forge", "orchestrator/pull", "orchestrator/run"},
	"orchestrator/store/bots": {"orchestrator/run", "orchestrator/serve/bot", "orchestrator/store/database"},
	"cmd/agent/internal/command/prompts": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/agent", "sandbox/workspace",
	},
	"cmd/agent/internal/command/proposals": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/run", "orchestrator/store/database", "orchestrator/store/knowledge",
	},
	"cmd/agent/internal/command/prove": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/proof", "cmd/agent/internal/term",
		"orchestrator/forge/revision", "orchestrator/run", "verify",
	},
	"cmd/agent/internal/command/replay": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/archive", "orchestrator/replay", "orchestrator/run", "orchestrator/store/history", "sandbox", "verify",
	},
	"cmd/agent/internal/command/review": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/command/undo", "cmd/agent/internal/fault", "cmd/agent/internal/term",
		"cmd/agent/internal/wire", "orchestrator/run", "orchestrator/store", "orchestrator/store/history", "sandbox/workspace", "verify",
	},
	"cmd/agent/internal/command/runs": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/apply", "cmd/agent/internal/command/replay", "cmd/agent/internal/config",
		"cmd/agent/internal/fault", "cmd/agent/internal/sarif",
		"cmd/agent/internal/term", "cmd/agent/internal/wire", "orchestrator/agent/conversation", "orchestrator/gate", "orchestrator/llm", "orchestrator/run", "orchestrator/store/calls",
		"orchestrator/store/history", "verify",
	},
	"cmd/agent/internal/command/sandbox": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/command/images", "cmd/agent/internal/command/proposals",
		"cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/sarif", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"images", "orchestrator/agent", "orchestrator/exec", "orchestrator/exec/recipe", "orchestrator/gateway", "orchestrator/ledger", "orchestrator/llm", "orchestrator/loop", "orchestrator/run", "orchestrator/store/database",
		"orchestrator/tournament", "sandbox", "sandbox/egress", "sandbox/guest", "sandbox/workbench", "sandbox/workspace/promotion", "verify",
	},
	"cmd/agent/internal/command/schema": {"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "docs/schema"},
	"cmd/agent/internal/command/self": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config", "cmd/agent/internal/fault",
		"cmd/agent/internal/term", "cmd/agent/internal/wire", "images", "orchestrator/gate", "orchestrator/run", "orchestrator/selfbuild",
		"orchestrator/store/database", "sandbox", "sandbox/workspace", "verify/policy",
	},
	"cmd/agent/internal/command/sql": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "cmd/agent/internal/wire",
		"orchestrator/store/query",
	},
	"cmd/agent/internal/command/undo": {
		"cmd/agent/internal/checkpoint", "cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term",
		"cmd/agent/internal/wire", "orchestrator/blame", "orchestrator/run", "orchestrator/store/database", "orchestrator/undo", "sandbox/workspace",
	},
	"cmd/agent/internal/command/uninstall": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/term", "images", "sandbox",
	},
	"cmd/agent/internal/command/watch": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/proof", "cmd/agent/internal/term",
		"orchestrator/forge/revision", "orchestrator/run", "sandbox/workspace", "verify",
	},
	"cmd/agent/internal/config": {
		"cmd/agent/internal/config/credential", "cmd/agent/internal/fault", "images/dependencies", "orchestrator/exec/recipe", "orchestrator/forge", "orchestrator/gateway", "orchestrator/llm", "orchestrator/llm/vendors", "orchestrator/loop/quiet", "orchestrator/run", "sandbox/egress", "sandbox/workspace/secret/disguise", "verify",
		"verify/policy",
	},
	"cmd/agent/internal/config/credential": {"orchestrator/llm"},
	"cmd/agent/internal/fault":             {"migrations", "orchestrator/agent", "orchestrator/run", "orchestrator/store/database", "orchestrator/store/query", "sandbox"},
	"cmd/agent/internal/page":              {"cmd/agent/internal/term"},
	"cmd/agent/internal/proof": {
		"cmd/agent/internal/cmdline", "cmd/agent/internal/command/sandbox", "cmd/agent/internal/config", "cmd/agent/internal/fault", "cmd/agent/internal/wire",
		"orchestrator/forge/revision", "orchestrator/run", "sandbox/workspace", "verify",
	},
	"cmd/agent/internal/sarif": {"cmd/agent/internal/fault", "cmd/agent/internal/term", "orchestrator/run", "verify"},
	"cmd/agent/internal/term":  {"orchestrator/agent/critic", "orchestrator/agent", "orchestrator/gate", "orchestrator/llm", "orchestrator/loop", "orchestrator/run", "verify", "verify/policy"},
	"cmd/agent/internal/wire": {
		"orchestrator/agent/critic", "cmd/agent/internal/config", "cmd/agent/internal/fault", "images", "images/dependencies", "orchestrator/agent", "orchestrator/agent/conversation", "orchestrator/agent/tools", "orchestrator/blame", "orchestrator/chat", "orchestrator/crew", "orchestrator/crew/builder", "orchestrator/export",
		"orchestrator/forge", "orchestrator/gate", "orchestrator/gateway", "orchestrator/ledger", "orchestrator/llm", "orchestrator/llm/catalog", "orchestrator/llm/emulated", "orchestrator/llm/vendors", "orchestrator/loop", "orchestrator/report/gather", "orchestrator/run", "orchestrator/store",
		"orchestrator/store/database", "orchestrator/store/history", "orchestrator/store/query", "orchestrator/survey", "orchestrator/tournament", "orchestrator/workbench", "sandbox", "sandbox/turns", "sandbox/workspace",
		"sandbox/workspace/secret/disguise", "verify", "verify/keylock", "verify/repair",
	},
	"cmd/guest":                       {"sandbox/guest"},
	"images":                          {"images/dependencies", "images/registries", "sandbox/guest/sealed"},
	"images/dependencies":             {"sandbox/workspace/deps", "sandbox/workspace/lang"},
	"orchestrator/agent":              {"sandbox/workspace/lang"},
	"orchestrator/agent/retrieve":     {"orchestrator/ledger", "sandbox/workspace/lang"},
	"orchestrator/archive":            {"orchestrator/replay", "orchestrator/run", "sandbox/workspace", "verify"},
	"orchestrator/blame":              {"orchestrator/edit/align"},
	"orchestrator/agent/critic":       {"orchestrator/agent"},
	"orchestrator/agent/conversation": {"orchestrator/agent", "orchestrator/agent/tools", "orchestrator/llm"},
	"orchestrator/agent/draft":        {"orchestrator/edit", "orchestrator/edit/problem", "orchestrator/gate", "sandbox/workspace"},
	"orchestrator/agent/tools":        {"orchestrator/agent/draft", "orchestrator/edit/problem", "orchestrator/ledger", "sandbox/workspace"},
	"orchestrator/edit": {
		"orchestrator/edit/document", "orchestrator/edit/explain", "orchestrator/edit/guard", "orchestrator/edit/lex", "orchestrator/edit/match",
		"orchestrator/edit/parse", "orchestrator/edit/problem", "sandbox/workspace",
	},
	"orchestrator/edit/batch":    {"orchestrator/edit", "orchestrator/edit/match", "orchestrator/edit/problem", "sandbox/workspace"},
	"orchestrator/edit/document": {"orchestrator/edit/lex"},
	"orchestrator/edit/explain": {
		"orchestrator/edit/align", "orchestrator/edit/document", "orchestrator/edit/lex", "orchestrator/edit/match", "orchestrator/edit/parse",
		"orchestrator/edit/problem",
	},
	"orchestrator/edit/guard": {
		"orchestrator/edit/document", "orchestrator/edit/explain", "orchestrator/edit/lex", "orchestrator/edit/match", "orchestrator/edit/parse",
		"orchestrator/edit/problem", "sandbox/workspace/lang",
	},
	"orchestrator/edit/lex": {"sandbox/workspace/lang"},
	"orchestrator/edit/match": {
		"orchestrator/edit/align", "orchestrator/edit/document", "orchestrator/edit/lex", "orchestrator/edit/indent", "orchestrator/edit/parse",
		"sandbox/workspace/lang",
	},
	"orchestrator/edit/indent": {"orchestrator/edit/document", "orchestrator/edit/lex"},
	"orchestrator/edit/parse":  {"orchestrator/edit/lex", "orchestrator/edit/problem"},
	"orchestrator/exec":        {"images", "orchestrator/gate", "orchestrator/run", "sandbox", "sandbox/guest", "sandbox/workbench", "sandbox/workspace", "verify/node", "verify/room"},
	"orchestrator/exec/recipe": {"sandbox/egress"},
	"orchestrator/gateway": {
		"orchestrator/llm", "orchestrator/llm/anthropic", "orchestrator/llm/compatible", "orchestrator/llm/gemini", "orchestrator/llm/openai", "orchestrator/llm/wire",
		"sandbox/workspace/secret",
	},
	"orchestrator/export":         {"orchestrator/agent", "orchestrator/survey"},
	"orchestrator/forge":          {"sandbox/workspace/git"},
	"orchestrator/forge/gitea":    {"orchestrator/forge", "orchestrator/forge/wire"},
	"orchestrator/forge/github":   {"orchestrator/forge", "orchestrator/forge/wire"},
	"orchestrator/forge/gitlab":   {"orchestrator/forge", "orchestrator/forge/wire"},
	"orchestrator/forge/mirror":   {"sandbox/workspace/git"},
	"orchestrator/forge/revision": {"sandbox/workspace", "sandbox/workspace/git"},
	"orchestrator/forge/wire":     {"orchestrator/forge"},
	"orchestrator/forge/commit":   {"orchestrator/forge/revision", "sandbox/workspace", "sandbox/workspace/git"},
	"orchestrator/forge/hooks":    {"orchestrator/forge/revision"},
	"orchestrator/gate": {
		"images", "images/dependencies", "orchestrator/agent", "orchestrator/edit", "orchestrator/edit/parse", "orchestrator/edit/problem", "sandbox/workspace",
		"verify", "verify/policy",
	},
	"orchestrator/gate/batch":     {"orchestrator/gate", "sandbox/workspace", "verify", "verify/policy"},
	"orchestrator/llm":            {"sandbox/workspace/secret"},
	"orchestrator/llm/anthropic":  {"orchestrator/llm", "orchestrator/llm/wire"},
	"orchestrator/llm/catalog":    {"orchestrator/llm"},
	"orchestrator/llm/compatible": {"orchestrator/llm", "orchestrator/llm/openai", "orchestrator/llm/wire"},
	"orchestrator/llm/emulated":   {"orchestrator/llm", "orchestrator/llm/wire"},
	"orchestrator/llm/gemini":     {"orchestrator/llm", "orchestrator/llm/wire"},
	"orchestrator/llm/ollama":     {"orchestrator/llm", "orchestrator/llm/wire"},
	"orchestrator/llm/openai":     {"orchestrator/llm", "orchestrator/llm/wire"},
	"orchestrator/llm/vendors": {
		"orchestrator/llm", "orchestrator/llm/anthropic", "orchestrator/llm/compatible", "orchestrator/llm/gemini", "orchestrator/llm/ollama", "orchestrator/llm/openai",
	},
	"orchestrator/llm/wire": {"orchestrator/llm"},
	"orchestrator/loop": {
		"orchestrator/agent", "orchestrator/agent/retrieve", "orchestrator/gate", "orchestrator/ledger", "orchestrator/loop/directive", "orchestrator/loop/quiet",
		"orchestrator/loop/related", "orchestrator/run", "orchestrator/survey", "orchestrator/tournament", "sandbox", "sandbox/workspace", "sandbox/workspace/lang", "verify",
	},
	"orchestrator/ledger/decode":  {"orchestrator/ledger"},
	"orchestrator/loop/directive": {"orchestrator/agent", "orchestrator/tournament"},
	"orchestrator/loop/related":   {"orchestrator/agent", "orchestrator/agent/retrieve", "orchestrator/ledger", "orchestrator/survey", "sandbox/workspace", "sandbox/workspace/lang"},
	"orchestrator/pull":           {"orchestrator/forge", "orchestrator/gate", "verify", "verify/policy"},
	"orchestrator/report":         {"orchestrator/ledger", "sandbox/workspace/deps", "sandbox/workspace/lang", "verify/check", "verify/policy/acting"},
	"orchestrator/report/gather": {
		"images", "orchestrator/gate", "orchestrator/ledger", "orchestrator/report", "sandbox/workspace", "sandbox/workspace/git", "sandbox/workspace/lang",
		"sandbox/workspace/secret", "verify", "verify/check",
	},
	"orchestrator/replay": {"images", "orchestrator/gate", "orchestrator/run", "sandbox/workspace", "verify", "verify/policy"},
	"orchestrator/run": {
		"orchestrator/agent/critic", "images", "orchestrator/agent", "orchestrator/edit/parse", "orchestrator/edit/problem", "orchestrator/forge/commit", "orchestrator/forge/revision",
		"orchestrator/gate", "sandbox", "sandbox/workspace", "sandbox/workspace/promotion", "sandbox/workspace/secret/disguise", "verify", "verify/policy", "verify/room",
	},
	"orchestrator/selfbuild": {"images", "sandbox", "sandbox/workspace"},
	"orchestrator/store": {
		"orchestrator/agent/critic", "orchestrator/gate", "orchestrator/llm", "orchestrator/loop", "orchestrator/run", "orchestrator/chat", "orchestrator/store/bots", "orchestrator/store/calls", "orchestrator/store/chats", "orchestrator/store/database",
		"orchestrator/store/history", "orchestrator/store/knowledge", "orchestrator/store/plans", "orchestrator/store/query", "orchestrator/survey", "sandbox/workspace", "verify",
	},
	"orchestrator/store/calls":    {"orchestrator/agent/conversation", "orchestrator/llm", "orchestrator/store/database", "sandbox/workspace/secret/disguise"},
	"orchestrator/store/database": {"migrations"},
	"orchestrator/store/history": {
		"orchestrator/agent/critic", "orchestrator/gate", "orchestrator/llm", "orchestrator/replay", "orchestrator/run", "orchestrator/store/calls", "orchestrator/store/database",
		"sandbox/workspace", "verify",
	},
	"orchestrator/store/knowledge": {"orchestrator/agent", "orchestrator/loop", "orchestrator/report", "orchestrator/run", "orchestrator/store/database", "orchestrator/survey"},
	"orchestrator/store/query":     {"migrations", "orchestrator/store/database"},
	"orchestrator/survey":          {"images", "orchestrator/agent", "orchestrator/gate", "orchestrator/ledger", "orchestrator/ledger/decode", "sandbox", "sandbox/workspace", "verify", "verify/symbols"},
	"orchestrator/workbench": {
		"orchestrator/agent", "orchestrator/agent/conversation", "orchestrator/agent/draft", "orchestrator/agent/tools", "orchestrator/gate", "orchestrator/ledger",
		"sandbox", "sandbox/guest", "sandbox/workspace", "verify", "verify/node", "verify/room",
	},
	"orchestrator/tournament":     {"orchestrator/agent/critic", "orchestrator/agent", "orchestrator/edit/parse", "orchestrator/gate", "orchestrator/run", "sandbox/workspace", "verify", "verify/check"},
	"orchestrator/undo":           {"orchestrator/blame", "sandbox/workspace"},
	"sandbox":                     {"sandbox/guest", "sandbox/guest/sealed", "sandbox/guest/wire", "sandbox/owner", "sandbox/workbench", "sandbox/workspace"},
	"sandbox/guest":               {"sandbox/guest/names", "sandbox/guest/process", "sandbox/guest/sealed", "sandbox/guest/wire"},
	"sandbox/workbench":           {"sandbox/guest", "sandbox/guest/wire"},
	"sandbox/workspace":           {"sandbox/workspace/git", "sandbox/workspace/internal/dirfd", "sandbox/workspace/lang"},
	"sandbox/workspace/promotion": {"sandbox/workspace", "sandbox/workspace/git", "sandbox/workspace/internal/dirfd"},
	"sandbox/workspace/secret":    {"sandbox/workspace/lang"},

	"sandbox/workspace/secret/disguise": {"sandbox/workspace/secret"},
	"verify": {
		"sandbox", "sandbox/egress", "sandbox/guest", "sandbox/turns", "sandbox/workspace", "sandbox/workspace/lang", "verify/audit", "verify/check", "verify/compare",
		"verify/contrary", "verify/format", "verify/golang", "verify/kept", "verify/keylock", "verify/mutate", "verify/near", "verify/node", "verify/owngate",
		"verify/policy", "verify/python", "verify/room", "verify/shell", "verify/smoke", "verify/syntax", "verify/trial", "verify/typecache", "verify/web",
	},
	"verify/audit": {
		"sandbox/workspace", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/golang", "verify/node", "verify/policy", "verify/python", "verify/shell", "verify/smoke",
		"verify/web",
	},
	"verify/check":           {"sandbox/guest", "sandbox/workspace", "sandbox/workspace/lang"},
	"verify/compare":         {"sandbox/workspace", "sandbox/workspace/lang", "verify/check"},
	"verify/crash":           {"verify/check"},
	"verify/kept":            {"verify/keylock"},
	"verify/format":          {"sandbox/workspace", "verify/check", "verify/compare", "verify/golang", "verify/python"},
	"verify/contrary":        {"sandbox/workspace", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/policy"},
	"verify/golang":          {"sandbox/guest", "sandbox/workspace/deps", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/crash", "verify/policy/checker", "verify/witness"},
	"verify/node":            {"sandbox/guest", "sandbox/workspace", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/node/failing", "verify/node/glob", "verify/node/lintreport", "verify/node/listing", "verify/node/npmscript", "verify/node/tap", "verify/node/testreport", "verify/witness"},
	"verify/node/lintreport": {"verify/check"},
	"verify/node/failing":    {"sandbox/workspace/lazyregexp", "verify/check"},
	"verify/node/tap":        {"verify/check"},
	"verify/node/testreport": {"sandbox/workspace/lazyregexp", "verify/check", "verify/node/tap"},
	"verify/mutate":          {"sandbox/workspace/lang"},
	"verify/near":            {"sandbox/workspace", "sandbox/workspace/lang", "verify/check", "verify/golang", "verify/node", "verify/python"},
	"verify/owngate":         {"sandbox/guest", "sandbox/workspace", "sandbox/workspace/lang", "verify/check", "verify/shell", "verify/smoke"},
	"verify/policy": {
		"sandbox/workspace", "sandbox/workspace/deps", "sandbox/workspace/lang", "sandbox/workspace/secret", "sandbox/workspace/secret/disguise", "verify/check", "verify/node", "verify/policy/acting", "verify/policy/checker", "verify/policy/concealed", "verify/policy/directive", "verify/policy/named", "verify/policy/runner", "verify/policy/signature", "verify/policy/testform", "verify/policy/unchecked", "verify/python",
	},
	"verify/policy/acting":    {"sandbox/workspace"},
	"verify/policy/checker":   {"sandbox/workspace/lazyregexp", "verify/policy/acting"},
	"verify/policy/concealed": {"sandbox/workspace/lang"},
	"verify/policy/directive": {"sandbox/workspace/lang"},
	"verify/policy/named":     {"sandbox/workspace/lang", "sandbox/workspace/lazyregexp", "verify/check"},
	"verify/policy/runner":    {"sandbox/workspace/lang"},
	"verify/policy/signature": {"sandbox/workspace/lang", "sandbox/workspace/secret"},
	"verify/policy/testform":  {"sandbox/workspace/lang"},
	"verify/policy/unchecked": {"sandbox/workspace/lang", "sandbox/workspace/secret", "verify/policy/signature"},
	"verify/python":           {"sandbox/guest", "sandbox/workspace", "sandbox/workspace/deps", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/policy/checker", "verify/python/certain", "verify/python/modules", "verify/python/mypyhelp", "verify/python/requires", "verify/witness"},
	"verify/python/certain":   {"sandbox/workspace/lazyregexp", "verify/check", "verify/python/modules", "verify/python/requires"},
	"verify/python/modules":   {"sandbox/workspace/lazyregexp", "verify/check"},
	"verify/python/requires":  {"sandbox/workspace/lazyregexp", "verify/check"},
	"verify/shell":            {"sandbox/guest", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/policy/checker"},
	"verify/repair":           {"sandbox", "sandbox/guest", "sandbox/workspace", "verify", "verify/check", "verify/compare", "verify/node", "verify/python", "verify/room", "verify/web"},
	"verify/room":             {"sandbox", "sandbox/workspace", "verify/check", "verify/golang", "verify/python"},
	"verify/smoke":            {"sandbox/guest", "sandbox/workspace", "sandbox/workspace/deps", "sandbox/workspace/lang", "verify/check", "verify/crash", "verify/golang", "verify/node", "verify/python"},
	"verify/symbols":          {"sandbox", "sandbox/guest", "verify/check"},
	"verify/syntax":           {"sandbox/guest", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/golang"},
	"verify/trial": {
		"sandbox/workspace", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/mutate", "verify/near", "verify/node", "verify/policy", "verify/policy/testform", "verify/python",
		"verify/smoke",
	},
	"verify/typecache": {"verify/check", "verify/python"},
	"verify/web":       {"sandbox/guest", "sandbox/workspace/lang", "verify/check", "verify/compare", "verify/syntax"},
	"verify/witness":   {"sandbox/workspace", "sandbox/workspace/lang", "verify/check"},
}

// commands is the directory of the commands' packages. A command may import everything except commands that are not
// listed here for it.
const commands = "cmd/agent/internal/command/"

var uses = map[string][]string{
	"analyze": {"sandbox"},
	"apply":   {"sandbox"},
	"doctor":  {"images"},
	"hook":    {"mcp"},
	"lsp":     {"watch"},
	"pr":      {"plan", "sandbox"},
	"review":  {"undo"},
	"runs":    {"apply", "replay"},
	"sandbox": {"images", "proposals"},
	"self":    {"sandbox"},
	"serve":   {"pr"},
	"chat":    {"sandbox"},
	"plan":    {"sandbox"}, "build": {"plan", "sandbox"}, "loop": {"build", "sandbox"}, "jobs": {"plan"},
}

// mayImport reports whether the package in a folder may import another package of this module.
func mayImport(dir, ours string) bool {
	if name, ok := strings.CutPrefix(dir, commands); ok {
		other, isCommand := strings.CutPrefix(ours, commands)
		return !isCommand || slices.Contains(uses[name], other)
	}
	return ours == lazyPatterns || slices.Contains(allowed[dir], ours) || slices.Contains(allowed[dir], "*")
}

// only names the single package that may import a library, which all others must reach through it.
var only = map[string]string{docker: "sandbox", buildkit: "images", genai: "orchestrator/llm/gemini"}

// A source is one parsed Go file of the tree.
type source struct {
	path string // slash-separated, relative to the root
	dir  string
	text []byte
	ast  *ast.File
	fset *token.FileSet
	test bool // a _test.go file, or one of a package for tests
}

func (s source) lines() int { return bytes.Count(s.text, []byte("\n")) }

func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(n.Pos()).Line)
}

// sources returns the Go files of the tree, parsed once for all tests, which only read them.
func sources(t *testing.T) []source {
	t.Helper()
	list, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Fatalf("found only %d Go files: is this the tree?", len(list))
	}
	return list
}

// parsed parses every Go file of the tree.
var parsed = sync.OnceValues(func() (list []source, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == testDir || p == shippedGuest) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(p) != ".go" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		test := strings.HasSuffix(p, "_test.go") || strings.HasSuffix(path.Dir(p), testHelperSuffix)
		list = append(list, source{p, path.Dir(p), text, file, fset, test})
		return nil
	})
	return list, err
})

func code(list []source) []source {
	return slices.DeleteFunc(slices.Clone(list), func(s source) bool { return s.test })
}

func TestImportsGoOneWay(t *testing.T) {
	for _, s := range code(sources(t)) {
		for _, spec := range s.ast.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for library, owner := range only {
				if strings.HasPrefix(name, library) && s.dir != owner {
					t.Errorf("%s imports %s, which only %s may", s.at(spec), name, owner)
				}
			}
			ours, ok := strings.CutPrefix(name, moduleName+"/")
			if ok && !mayImport(s.dir, ours) {
				t.Errorf("%s: %s may not import %s: see the table in this test", s.at(spec), s.dir, ours)
			}
		}
	}
}

// The map of the tree names every package, and nothing else.
func TestTheMapNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "orchestrator/doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\S+) {2,}\S`).FindAllSubmatch(text, -1) {
		named[string(m[1])] = true
	}
	_, tests, _ := bytes.Cut(text, []byte("Packages for tests alone:"))
	for _, m := range regexp.MustCompile(`(?:cmd|images|orchestrator|sandbox|verify)(?:/[a-z]+)+`).FindAll(tests[:bytes.Index(tests, []byte("\n//\n"))], -1) {
		named[string(m)] = true
	}
	there := map[string]bool{}
	for _, s := range sources(t) {
		there[s.dir] = s.dir != "orchestrator" // the map itself
	}
	for dir := range there {
		if there[dir] && !named[dir] {
			t.Errorf("%s is not in the map of orchestrator/doc.go", dir)
		}
	}
	for dir := range named {
		if !there[dir] {
			t.Errorf("orchestrator/doc.go names %s, which is not there", dir)
		}
	}
}

// The places that docs/adding.md names exist, and no list is long.
func TestAddingNamesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/adding.md"))
	if err != nil {
		t.Fatal(err)
	}
	section, list := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section = name
		} else if line == "Read" || line == "Touch" {
			list = line
		}
		number, item, ok := strings.Cut(line, ". ")
		if n, err := strconv.Atoi(number); ok && err == nil && n > 6 {
			t.Errorf("%s: %s lists %d files or more: %s", section, list, n, item)
		}
		for _, m := range regexp.MustCompile("`([a-zA-Z_./-]+/[a-zA-Z_./-]*|[A-Z]+\\.md)`").FindAllStringSubmatch(line, -1) {
			// A name in capitals is a placeholder; its folder exists.
			file, _, _ := strings.Cut(m[1], "NAME")
			if i := strings.Index(file, "NNN"); i >= 0 {
				file = file[:i]
			}
			if strings.HasSuffix(file, "/") || file == m[1] {
				if _, err := os.Stat(filepath.Join(root, file)); err != nil {
					t.Errorf("%s names %s, which is not there", section, m[1])
				}
			}
		}
	}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		if !strings.Contains(s, "\nRead\n\n1. ") || !strings.Contains(s, "\nTouch\n\n1. ") {
			t.Errorf("%.20q lacks what to read or to touch", s)
		}
	}
	for _, kind := range []string{"language", "vendor", "command", "setting", "hold", "state"} {
		if !regexp.MustCompile(`(?m)^## An? ` + kind).Match(text) {
			t.Errorf("it does not say how to add a %s", kind)
		}
	}
}

func TestEverythingExportedIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	all := code(sources(t))
	for _, s := range all {
		documented[s.dir] = documented[s.dir] || s.ast.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", dir)
		}
	}
	for _, s := range all {
		if s.ast.Name.Name == "main" {
			continue
		}
		for _, d := range s.ast.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no comment", s.at(name), name.Name)
			}
		}
	}
}

// undocumented returns the exported names that d declares without a comment.
func undocumented(d ast.Decl) []*ast.Ident {
	var bare []*ast.Ident
	add := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool { return g != nil }) {
			bare = append(bare, name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || receiver(d).IsExported() {
			add(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(spec.Name, d.Doc, spec.Doc, spec.Comment)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					add(name, d.Doc, spec.Doc, spec.Comment)
				}
			}
		}
	}
	return bare
}

func receiver(d *ast.FuncDecl) *ast.Ident {
	expr := d.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if generic, ok := expr.(*ast.IndexExpr); ok {
		expr = generic.X
	}
	return expr.(*ast.Ident)
}

func TestSizesStayWithinBudget(t *testing.T) {
	var funcs, files []int
	for _, s := range code(sources(t)) {
		n := s.lines()
		files = append(files, n)
		if n > maxFile {
			t.Errorf("%s has %d lines, more than %d", s.path, n, maxFile)
		}
		for _, d := range s.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			n := s.fset.Position(fn.End()).Line - s.fset.Position(fn.Pos()).Line + 1
			funcs = append(funcs, n)
			if n > maxFunc {
				t.Errorf("%s: %s has %d lines, more than %d", s.at(fn), fn.Name.Name, n, maxFunc)
			}
		}
	}
	if p := p90(funcs); p > maxFuncP90 {
		t.Errorf("the 90th percentile of function lengths is %d lines, more than %d", p, maxFuncP90)
	}
	if p := p90(files); p > maxFileP90 {
		t.Errorf("the 90th percentile of file lengths is %d lines, more than %d", p, maxFileP90)
	}
}

// p90 is the 90th percentile by nearest rank.
func p90(list []int) int {
	slices.Sort(list)
	return list[(90*len(list)+99)/100-1]
}

// A package is one idea, so its code stays small enough to be read whole.
const maxPackage, maxFiles = 3500, 22

// large lists the packages that are still over the budget of lines or files, with their limits. An entry only shrinks,
// and disappears with the last line too many.
var large = map[string]struct{ lines, files int }{}

func TestPackagesStayWithinBudget(t *testing.T) {
	lines, files := map[string]int{}, map[string]int{}
	for _, s := range code(sources(t)) {
		lines[s.dir] += s.lines()
		files[s.dir]++
	}
	for dir := range lines {
		most, excepted := large[dir]
		if !excepted {
			most.lines, most.files = maxPackage, maxFiles
		}
		if lines[dir] > most.lines || files[dir] > most.files {
			t.Errorf("%s has %d lines in %d files, over %d in %d: an idea in it wants a folder of its own", dir, lines[dir], files[dir], most.lines, most.files)
		}
	}
	for dir, most := range large {
		switch {
		case lines[dir] <= maxPackage && files[dir] <= maxFiles:
			t.Errorf("%s is within the budget: take it off the list", dir)
		// A twentieth more leaves room for everyday changes.
		case most.lines > lines[dir]+lines[dir]/20 || most.files > files[dir]+1:
			t.Errorf("%s has %d lines in %d files: lower its entry of %d in %d", dir, lines[dir], files[dir], most.lines, most.files)
		}
	}
}

func TestCommentsAndTestsKeepTheirShare(t *testing.T) {
	var comments, codes, testLines, lines int
	for _, s := range sources(t) {
		if s.test {
			testLines += s.lines()
			continue
		}
		lines += s.lines()
		c, k := countLines(s.text)
		comments, codes = comments+c, codes+k
	}
	if share := 100 * comments / (comments + codes); share > maxComments {
		t.Errorf("comments are %d %% of the code, above %d %%", share, maxComments)
	}
	if ratio := float64(testLines) / float64(lines); ratio < minTestRatio {
		t.Errorf("%.4f test lines for a line of code, less than %.2f: %d lines of tests are missing", ratio, minTestRatio, int(minTestRatio*float64(lines))-testLines)
	}
}

// countLines counts the lines with only comment, and those with code.
func countLines(text []byte) (comments, codes int) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	hasCode, hasComment := map[int]bool{}, map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		set := hasCode
		if tok == token.COMMENT {
			set = hasComment
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(lit, "\n"); line++ {
			set[line] = true
		}
	}
	for line := range hasComment {
		if !hasCode[line] {
			comments++
		}
	}
	return comments, len(hasCode)
}

func TestInterfacesAreSmall(t *testing.T) {
	for _, s := range code(sources(t)) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxMethods {
				t.Errorf("%s: an interface of %d methods, more than %d", s.at(i), i.Methods.NumFields(), maxMethods)
			}
			return true
		})
	}
}

// ownTables lists the files that may name several extensions of languages, with the number of such lists, because their
// content is not a table of languages. An entry only shrinks.
var ownTables = map[string]int{
	"orchestrator/ledger/resolve.go": 1, // the order in which a module is searched
	"sandbox/workspace/leftout.go":   1, // names of files with secrets
	"verify/policy/extends.go":       1, // the order in which tools search for a configuration
	"verify/node/packagelint.go":     1, // the same for what a configuration imports
	"verify/policy/stubs.go":         1, // what accompanies a file of declarations
}

// extension matches a text that looks like a file name extension.
var extension = regexp.MustCompile(`^\.[a-z][a-z0-9]{0,11}$`)

// TestOnlyOneTableOfLanguages looks for lists, cases and keys with three or more extensions of languages: knowledge
// about languages belongs in sandbox/workspace/lang.
func TestOnlyOneTableOfLanguages(t *testing.T) {
	known := func(list []ast.Expr) (n int) {
		for _, e := range list {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Key
			}
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err == nil && extension.MatchString(text) && lang.ByExtension(text) != nil {
					n++
				}
			}
		}
		return n
	}
	found := map[string]int{}
	for _, s := range code(sources(t)) {
		if s.dir == "sandbox/workspace/lang" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			var names int
			switch n := n.(type) {
			case *ast.CompositeLit:
				names = known(n.Elts)
			case *ast.SwitchStmt:
				for _, c := range n.Body.List {
					names += known(c.(*ast.CaseClause).List)
				}
			}
			if names < 3 {
				return true
			}
			if found[s.path]++; found[s.path] > ownTables[s.path] {
				t.Errorf("%s has a table of extensions of its own: take it from sandbox/workspace/lang", s.at(n))
			}
			return true
		})
	}
	for file, most := range ownTables {
		if found[file] < most {
			t.Errorf("%s has %d lists of extensions: lower its entry of %d", file, found[file], most)
		}
	}
}

// forbidden are texts that no Go file may contain. The patterns are written so that they do not match themselves. A
// matching text contains one of the words, in lower case: most files contain none of them, and are not searched slowly.
var forbidden = map[string]struct {
	words string
	re    *regexp.Regexp
}{
	"an error text that says nothing": {`fmt.errorf errors.new`, regexp.MustCompile(`(fmt\.Errorf|errors\.New)\("(?i)(failed|unable|could ?n[o']t|cannot|can't|error)\b`)},
	"unfinished work":                 {"to" + "do fix" + "me xx" + "x", regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X])\b`)},
	"a private key":                   {"-----begin", regexp.MustCompile(`-----BEGI[N] [A-Z ]*PRIVATE KEY-----\n`)},
	"a credential":                    {"akia ghp_ gho_ ghu_ ghs_ ghr_ aiza sk-", regexp.MustCompile(`\b(AKI[A][0-9A-Z]{16}|gh[pousr]_[0-9A-Za-z]{36}|AIz[a][0-9A-Za-z_-]{35}|sk-[0-9A-Za-z]{32,})\b`)},
	"a test that may not run":         {"t.skip", regexp.MustCompile(`\bt\.Ski[p](Now|f)?\(`)},
}

// leftOut is the only place that skips tests: those that work on an engine, if AGENT_TEST_ENGINE=none asks for it.
const leftOut = "a test that may not run sandbox/enginetest/enginetest.go"

func TestForbiddenTexts(t *testing.T) {
	for _, s := range sources(t) {
		lower := string(bytes.ToLower(s.text))
		for what, f := range forbidden {
			if !slices.ContainsFunc(strings.Fields(f.words), func(word string) bool { return strings.Contains(lower, word) }) {
				continue
			}
			if loc := f.re.FindIndex(s.text); loc != nil && what+" "+s.path != leftOut {
				t.Errorf("%s:%d holds %s", s.path, bytes.Count(s.text[:loc[0]], []byte("\n"))+1, what)
			}
		}
	}
}

func TestNoHiddenLifetimes(t *testing.T) {
	for _, s := range code(sources(t)) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: an init function", s.at(n))
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "panic" {
					t.Errorf("%s: a panic", s.at(n))
				}
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && s.ast.Name.Name != "main" {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == "context" && (sel.Sel.Name == "Background" || sel.Sel.Name == "TO"+"DO") {
						t.Errorf("%s: context.%s outside main", s.at(n), sel.Sel.Name)
					}
				}
			case *ast.StructType:
				for _, f := range n.Fields.List {
					if sel, ok := f.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
						t.Errorf("%s: a context in a struct", s.at(f))
					}
				}
			}
			return true
		})
	}
}

func TestNoShelves(t *testing.T) {
	shelf := regexp.MustCompile(`^(util|utils|common|helpers?|types|models|misc|shared|base)$`)
	for _, s := range sources(t) {
		if strings.HasPrefix(s.dir, commands) { // a command's folder has the command's name
			continue
		}
		if shelf.MatchString(path.Base(s.dir)) || shelf.MatchString(s.ast.Name.Name) {
			t.Errorf("%s: package %s is a shelf: a type lives with its owner", s.path, s.ast.Name.Name)
		}
	}
}

func TestTopLevelHoldsOnlyWhatItShould(t *testing.T) {
	visible := strings.Fields("cmd orchestrator sandbox images migrations verify docs go.mod go.sum compose.yaml README.md Makefile CHANGELOG.md")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		built := e.Name() == "bin" // ignored by git, like everything that is built
		if !strings.HasPrefix(e.Name(), ".") && !built && !slices.Contains(visible, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
	for _, name := range visible {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("%s is missing at the top level", name)
		}
	}
}

// make fuzz runs every existing fuzz target.
func TestEveryFuzzTargetIsRun(t *testing.T) {
	list := exec.Command("bash", ".ci/fuzz", "list")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	listed := strings.Split(strings.TrimSpace(string(out)), "\n")
	var there []string
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && s.test && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				there = append(there, s.dir+" "+fn.Name.Name)
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(there)
	if len(there) < 30 || !slices.Equal(listed, there) {
		t.Errorf("make fuzz runs %q, and there are %q", listed, there)
	}
}

// The time of a fuzz target is spent on inputs: without a bound, Go minimises an input that reaches new code for a minute.
func TestFuzzingTriesInputs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho \"ran $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("bash", ".ci/fuzz", "7s", "FuzzUnseal")
	run.Dir, run.Env = root, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "-fuzz ^FuzzUnseal$ -fuzztime 7s -fuzzminimizetime 10x -parallel 1") || strings.Count(string(out), "ran test") != 1 {
		t.Errorf("%v: %s", err, out)
	}
}
