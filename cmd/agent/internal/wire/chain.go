package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/ollama"
)

// Vendors makes the link to a model, by the vendor's name. Another
// vendor is a package and a line here.
var Vendors = map[string]func(s config.Settings, model string) (llm.Link, error){
	gemini.Vendor: geminiLink,
	ollama.Vendor: ollamaLink,
}

// modelNames lists the models to ask, in order of preference.
func modelNames(s config.Settings) []string {
	// Whoever names a model gets that one and no other, so that code never
	// goes to a vendor that was not meant.
	names := config.ParseList(s["model"].Text)
	if len(names) > 0 {
		return names
	}
	// Only a vendor that could answer is asked.
	if s["gemini.keys"].Text != "" {
		names = append(names, config.DefaultGemini)
	}
	return append(names, config.DefaultOllama)
}

// links returns what the models are asked through.
func links(s config.Settings) ([]llm.Link, error) {
	var all []llm.Link
	for _, name := range modelNames(s) {
		// Only the first slash counts: the names of models may hold more.
		vendor, model, ok := strings.Cut(name, "/")
		make := Vendors[vendor]
		if !ok || model == "" || make == nil {
			return nil, fault.Usage("write it as gemini/NAME or ollama/NAME", "model (%s): %q names no model", s["model"].Origin, name)
		}
		link, err := make(s, model)
		if err != nil {
			return nil, err
		}
		// A price of the user's wins over what the vendor's link assumes.
		var prices llm.Prices
		if err := json.Unmarshal([]byte(s["prices"].Text), &prices); err != nil {
			return nil, fault.Usage("mend that value", "prices (%s): %v", s["prices"].Origin, err)
		}
		if price := prices.Find(vendor, model); price != nil {
			link.Price = price
		}
		all = append(all, link)
	}
	return all, nil
}

// geminiLink is a model of Google's.
func geminiLink(s config.Settings, model string) (llm.Link, error) {
	const next = "put a key in GEMINI_API_KEYS, or name another model with --model"
	keys, err := llm.ParseKeys(s["gemini.keys"].Text)
	if err != nil { // names a key by its place, never by its text
		return llm.Link{}, fault.Usage(next, "gemini.keys (%s): %w", s["gemini.keys"].Origin, err)
	}
	if len(keys) == 0 {
		return llm.Link{}, fault.Usage(next, "model gemini/%s: there is no key", model)
	}
	// Its errors hold no part of the address, where a password may stand.
	p, err := gemini.New(gemini.Options{BaseURL: s["gemini.base_url"].Text})
	if err != nil {
		return llm.Link{}, fault.Usage("write it as https://HOST", "gemini.base_url (%s): %w", s["gemini.base_url"].Origin, err)
	}
	return llm.Link{Provider: p, Model: model, Keys: keys}, nil
}

// ollamaLink is a model on a machine of one's own, which costs nothing
// unless a price says otherwise.
func ollamaLink(s config.Settings, model string) (llm.Link, error) {
	p, err := ollama.New(ollama.Options{Host: s["ollama.host"].Text})
	if err != nil {
		return llm.Link{}, fault.Usage("write it as HOST:PORT", "ollama.host (%s): %w", s["ollama.host"].Origin, err)
	}
	room, err := strconv.Atoi(s["ollama.context"].Text)
	return llm.Link{Provider: p, Model: model, Price: &llm.Price{}, Context: room}, err
}

// Window is the context of the smallest model that may be asked: a question has
// to fit a fallback as well.
func Window(s config.Settings) agent.Window {
	for _, name := range modelNames(s) {
		if vendor, _, _ := strings.Cut(name, "/"); vendor == ollama.Vendor {
			n, err := strconv.Atoi(s["ollama.context"].Text)
			if err != nil { // settings has checked it
				break
			}
			return agent.Window{Tokens: n, Setting: "ollama.context"}
		}
	}
	return agent.Window{}
}

// chain returns what asks the models of set, or answers from the record
// of the run replay. The caps are those of a scope: "run" or "loop".
func (s *Session) chain(set config.Settings, scope, replay string) (*llm.Chain, error) {
	limits, err := set.Budget()
	if err != nil {
		return nil, err
	}
	limits.Scope = scope
	conf := llm.Config{Limits: limits, Journal: &loggedJournal{Journal: s.DB, open: map[int64]llm.Record{}}, States: s.DB.Keys(), Replay: replay}
	// A replay asks nobody, so it needs no key and no model.
	if replay == "" {
		if conf.Links, err = links(set); err != nil {
			return nil, err
		}
	}
	// What it refuses here is a cap on cost without a price; links have
	// been checked above.
	chain, err := llm.New(conf)
	if err != nil {
		return nil, fault.Usage("give the price in [prices] of the user configuration, or take the cap on cost away", "%w", err)
	}
	return chain, nil
}

// CheckAnyModel looks whether somebody could answer at all, before a
// snapshot is taken in vain. Only where nothing was configured is a
// local Ollama looked for: a person who named a model is told by the run
// what became of it.
func CheckAnyModel(ctx context.Context, s config.Settings) error {
	// A model that cannot be asked is told here as well: the key that is
	// missing, the host that is none.
	all, err := links(s)
	if err != nil || len(config.ParseList(s["model"].Text)) > 0 || !slices.Equal(modelNames(s), []string{config.DefaultOllama}) {
		return err
	}
	// The same reading as the provider's own.
	host, err := ollama.Host(s["ollama.host"].Text)
	if err != nil || len(all) != 1 {
		return err
	}
	// A connection is enough; what answers is the run's business.
	conn, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, "tcp", host.Host)
	if err == nil {
		return conn.Close()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Infra("put a key in GEMINI_API_KEYS, or start Ollama (`ollama serve`, `ollama pull qwen3-coder:30b`), or give a patch with --patch",
		"no model is configured: there is no key of Gemini, and no Ollama answers at %s", host.Host)
}

// DescribeModels says which models would be asked, without asking any.
func DescribeModels(s config.Settings) (string, error) {
	all, err := links(s)
	if err != nil {
		return "", err
	}
	var parts []string
	// How many keys there are is told, never which.
	for _, l := range all {
		text := l.Provider.Vendor() + "/" + l.Model
		if n := len(l.Keys); n > 0 {
			text += fmt.Sprintf(" (keys: %d)", n)
		}
		if l.Price == nil {
			text += ", price not known"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", then ") + "; not asked", nil
}
