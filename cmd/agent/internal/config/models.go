package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/ollama"
)

// A budgetConfig caps what a run without a patch may spend on models.
// A workspace may lower each cap and never raise it.
type budgetConfig struct {
	Cost     float64 `toml:"cost"`     // of a run, in the currency of the prices
	DayCost  float64 `toml:"day_cost"` // of all runs since midnight UTC
	Tokens   int64   `toml:"tokens"`   // of a run, questions and answers
	Requests int     `toml:"requests"` // of a run
	Time     string  `toml:"time"`     // of a run, spent in requests
	Request  string  `toml:"request"`  // time of one request
	Idle     string  `toml:"idle"`     // time without a word from the model
}

// values gives the caps that are set to set.
func (b budgetConfig) values(set func(key, value string)) {
	set("budget.cost", strconv.FormatFloat(b.Cost, 'f', -1, 64))
	set("budget.day_cost", strconv.FormatFloat(b.DayCost, 'f', -1, 64))
	set("budget.tokens", strconv.FormatInt(b.Tokens, 10))
	set("budget.requests", strconv.Itoa(b.Requests))
	set("budget.time", b.Time)
	set("budget.request", b.Request)
	set("budget.idle", b.Idle)
}

// A modelConfig is the part of the user's file that says which models
// are asked. It has no place in a workspace: whoever can commit there
// could have the code sent elsewhere, or at another price.
//
//	model = ["gemini/gemini-2.5-flash", "ollama/qwen3-coder:30b"]
//
//	[prices."gemini/gemini-2.5-flash"]
//	in = 0.30
//	out = 2.50
//
//	[gemini]
//	api_keys = ["…"]
type modelConfig struct {
	Model      []string   `toml:"model"`
	Candidates int        `toml:"candidates"`
	Countdown  string     `toml:"countdown"`
	Expiry     string     `toml:"expiry"`
	Prices     llm.Prices `toml:"prices"`
	Gemini     struct {
		Keys    []string `toml:"api_keys"`
		BaseURL string   `toml:"base_url"`
	} `toml:"gemini"`
	Ollama struct {
		Host    string `toml:"host"`
		Context int    `toml:"context"` // tokens of question and answer
	} `toml:"ollama"`
}

// values puts what is set into v.
func (m modelConfig) values(v map[string]string) error {
	for key, text := range map[string]string{
		"countdown": m.Countdown, "expiry": m.Expiry, "gemini.keys": strings.Join(m.Gemini.Keys, ","),
		"gemini.base_url": m.Gemini.BaseURL, "ollama.host": m.Ollama.Host,
	} {
		if text != "" {
			v[key] = text
		}
	}
	// Zero is "not set", as everywhere in these files.
	for key, n := range map[string]int{"candidates": m.Candidates, "ollama.context": m.Ollama.Context} {
		if n != 0 {
			v[key] = strconv.Itoa(n)
		}
	}
	if len(m.Model) > 0 {
		v["model"] = formatList(m.Model)
	}
	if len(m.Prices) == 0 {
		return nil
	}
	// One text for the whole table: it has no place on a command line.
	prices, err := json.Marshal(m.Prices)
	v["prices"] = string(prices)
	return err
}

// modelKeys are the values that say which models are asked, and how
// much of them. The caps that have a default keep a run from going on
// for ever; money is capped only by who gives prices.
func modelKeys() []Key {
	return []Key{
		{"model", "model", "AGENT_MODEL", "[]", "models to ask, VENDOR/NAME, in order of preference; empty: " + DefaultGemini + " when there is a key, then " + DefaultOllama},
		{"candidates", "candidates", "AGENT_CANDIDATES", "1", "how many different changes are asked for, up to " + strconv.Itoa(maxCandidates)},
		{"countdown", "", "AGENT_COUNTDOWN", "3m40s", "how long a question on a terminal waits for its answer; 0: for ever"},
		{"expiry", "", "AGENT_EXPIRY", "proceed", "when the countdown ends: proceed with what passed and needs no approval of its own, or stop; a proposed feature is kept either way"},
		{"budget.cost", "max-cost", "AGENT_MAX_COST", "0", "cap on what a run, or a loop as a whole, spends, in the currency of the prices; 0: none"},
		{"budget.day_cost", "", "AGENT_MAX_DAY_COST", "0", "cap on what all runs spend since midnight UTC; 0: none"},
		{"budget.tokens", "max-tokens", "AGENT_MAX_TOKENS", "2000000", "cap on the tokens of a run, or of a loop as a whole; 0: none"},
		{"budget.requests", "max-requests", "AGENT_MAX_REQUESTS", "100", "cap on the requests of a run, or of a loop as a whole"},
		{"budget.time", "max-time", "AGENT_MAX_TIME", "1h0m0s", "cap on the time that a run, or a loop as a whole, spends in requests"},
		{"budget.request", "", "AGENT_MAX_REQUEST", "15m0s", "cap on the time of one request"},
		{"budget.idle", "", "AGENT_MAX_IDLE", "5m0s", "how long a model may say nothing in a request"},
		{"prices", "", "", "{}", "prices of a million tokens by VENDOR/NAME or VENDOR/*"},
		{"gemini.keys", "", "GEMINI_API_KEYS GEMINI_API_KEY", "", "keys of Gemini, with commas between; shown by their IDs"},
		{"gemini.base_url", "", "GEMINI_BASE_URL", "", "a compatible endpoint in Google's place"},
		{"ollama.host", "", "OLLAMA_HOST", "", "where Ollama answers; empty: this machine"},
		{"ollama.context", "", "", "32000", "tokens of context to have Ollama provide; questions are cut to fit"},
	}
}

// Budget reads the caps of a run.
func (s Settings) Budget() (llm.Limits, error) {
	// Every cap is named here, so that no default of another package
	// holds without being shown by `agent config`.
	limits := llm.Limits{Attempts: MaxAttempts}
	for _, part := range []struct {
		name string
		set  func(text string) error
	}{
		{"budget.cost", func(t string) (err error) { limits.RunCost, err = parseMoney(t); return err }},
		{"budget.day_cost", func(t string) (err error) { limits.DayCost, err = parseMoney(t); return err }},
		{"budget.tokens", func(t string) (err error) { limits.Tokens, err = parseCount(t, 0, 1e15); return err }},
		{"budget.requests", func(t string) error {
			n, err := parseCount(t, 1, 1e6)
			limits.Requests = int(n)
			return err
		}},
		{"budget.time", func(t string) (err error) { limits.RunTime, err = parseTimeout(t); return err }},
		{"budget.request", func(t string) (err error) { limits.Total, err = parseTimeout(t); return err }},
		{"budget.idle", func(t string) (err error) { limits.Idle, err = parseTimeout(t); return err }},
	} {
		// Where the value came from is named: that is where it is mended.
		v := s[part.name]
		if err := part.set(v.Text); err != nil {
			return limits, fault.Usage("mend that value", "%s (%s): %v", part.name, v.Origin, err)
		}
	}
	return limits, nil
}

// Candidates is how many different changes a run asks for.
func (s Settings) Candidates() (int, error) {
	n, err := parseCount(s["candidates"].Text, 1, maxCandidates)
	if err != nil {
		return 0, fault.Usage("mend that value", "candidates: %v", err)
	}
	return int(n), nil
}

// checkModels refuses values that cannot be what they should be. Where
// models answer is looked at when one is asked: a host that is wrong
// must not keep anybody from an undo.
func (s Settings) checkModels() error {
	if _, err := s.Budget(); err != nil {
		return err
	}
	for name, check := range map[string]func(string) error{
		"candidates":     func(t string) error { _, err := parseCount(t, 1, maxCandidates); return err },
		"ollama.context": func(t string) error { _, err := parseCount(t, 1024, 1e7); return err },
		"countdown":      func(t string) error { _, err := parseCountdown(t); return err },
		"expiry": func(t string) error {
			if t != "proceed" && t != "stop" {
				return fmt.Errorf("%q is neither proceed nor stop", t)
			}
			return nil
		},
		"prices": func(t string) error { return json.Unmarshal([]byte(t), &llm.Prices{}) },
	} {
		// Defaults are checked as well, which costs nothing.
		if err := check(s[name].Text); err != nil {
			return fault.Usage("mend that value", "%s (%s): %v", name, s[name].Origin, err)
		}
	}
	return nil
}

// MaxAttempts bounds the requests for one question.
const MaxAttempts = 16

// maxCandidates bounds what is asked for at once: as many boxes wait for the
// candidates as a pool holds, see sandbox.PoolConfig.
const maxCandidates = 64

// widerBudget names the first cap of want that is more than have allows,
// 0 being no cap.
func widerBudget(want, have llm.Limits) string {
	above := func(want, have int64) bool { return have > 0 && (want == 0 || want > have) }
	switch {
	case above(int64(want.RunCost), int64(have.RunCost)):
		return "budget.cost"
	case above(int64(want.DayCost), int64(have.DayCost)):
		return "budget.day_cost"
	case above(want.Tokens, have.Tokens):
		return "budget.tokens"
		// These have a default that cannot be switched off.
	case want.Requests > have.Requests:
		return "budget.requests"
	case want.RunTime > have.RunTime:
		return "budget.time"
	case want.Total > have.Total:
		return "budget.request"
	case want.Idle > have.Idle:
		return "budget.idle"
	}
	return ""
}

// parseMoney reads an amount in whole units of the currency.
func parseMoney(text string) (llm.Money, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1e9) { // also refuses NaN
		return 0, fmt.Errorf("%q is no amount of money: write it as 0.50", text)
	}
	// Less than a millionth would become no cap at all.
	amount := llm.Money(f * 1e6)
	if f > 0 && amount == 0 {
		return 0, fmt.Errorf("%q is less than a millionth", text)
	}
	return amount, nil
}

// parseCount reads a whole number between least and most.
func parseCount(text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is no number from %d to %d", text, least, most)
	}
	return n, nil
}

// parseCountdown reads how long a question waits; 0 is for ever.
func parseCountdown(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	return parseTimeout(text)
}

// keyIDs shows keys by their IDs. A list that cannot be read may hold
// secrets all the same.
func keyIDs(text string) string {
	keys, err := llm.ParseKeys(text)
	if err != nil {
		return "not readable"
	}
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	return strings.Join(ids, ",")
}

// maskHost hides what stands before the host or behind the path of an
// address, where people put passwords.
func maskHost(text string) string {
	if !strings.ContainsAny(text, "@?#") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "***"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// The models that are asked when nobody names one, as VENDOR/NAME.
const (
	DefaultGemini = gemini.Vendor + "/gemini-2.5-flash"
	DefaultOllama = ollama.Vendor + "/qwen3-coder:30b"
)

// A Patience says how long a question on a terminal waits, and what
// follows when nobody answers.
type Patience struct {
	Time time.Duration // 0 for ever
	Stop bool          // rather than to proceed
}

// Patience returns how long questions wait; settings has checked it.
func (s Settings) Patience() Patience {
	d, err := parseCountdown(s["countdown"].Text)
	return Patience{Time: d, Stop: err != nil || s["expiry"].Text != "proceed"}
}
